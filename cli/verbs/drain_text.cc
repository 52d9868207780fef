#include "cli/verbs/drain_text.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "cli/kit/duration.h"
#include "cli/kit/text.h"

namespace muster::cli {
namespace {

/// Of a host; the rest is counted.
constexpr std::size_t kJobsNamed = 8;

std::string waits_text(const agent::HostUse& host) {
  if (host.jobs.empty()) {
    return "nothing runs there";
  }
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(host.jobs.size(), kJobsNamed); ++i) {
    named.push_back(text_of(host.jobs[i]));
  }
  const std::size_t more = host.jobs.size() - named.size();
  std::string text = std::string(host.jobs.size() == 1 ? "waits for job " : "waits for jobs ") +
                     join(named) + (more == 0 ? "" : " and " + std::to_string(more) + " more");
  if (!host.drain.requeues) {
    return text;
  }
  return text + (host.drain.requeue_in_ms == 0
                     ? ", which are queued again now"
                     : ", queued again in " +
                           format_after(std::chrono::milliseconds(host.drain.requeue_in_ms)));
}

}  // namespace

std::string drain_text(const agent::HostUse& host) {
  return printable("host " + host.name + " drained by " + host.drain.by + " " +
                   format_age(host.drain.since_ms) + " ago" +
                   (host.drain.why.empty() ? "" : " (" + host.drain.why + ")") + ": " +
                   waits_text(host));
}

}  // namespace muster::cli
