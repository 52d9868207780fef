#include "cli/verbs/wait_text.h"

#include "cli/kit/wall_time.h"

namespace muster::cli {

std::string wait_lines(const Session& session, const agent::WaitInfo& wait, std::size_t column) {
  const WorldClock& clock = session.world().clock;
  std::string text;
  const auto add = [&](const std::string& name, const std::string& words) {
    text += name + std::string(column - name.size(), ' ') + words + "\n";
  };
  std::string items;
  for (const agent::WaitItem& each : wait.after) {
    items += (items.empty() ? "" : ", ") + each.item +
             (each.state.empty() ? "" : " (" + each.state + ")");
  }
  if (!items.empty()) {
    add("after", items);
  }
  if (wait.begin_unix_ms != 0) {
    add("begins", full_time(wait.begin_unix_ms, clock));
  }
  if (wait.deadline_unix_ms != 0) {
    add("deadline", full_time(wait.deadline_unix_ms, clock));
  }
  return text;
}

std::string reason_text(const Session& session, const agent::JobSummary& job) {
  return job.wait.is_before_begin && job.wait.begin_unix_ms != 0
             ? "begins " + brief_time(job.wait.begin_unix_ms, session.world().clock)
             : job.reason;
}

}  // namespace muster::cli
