// muster show: one job, its attempts, its ranks and how it got where it is.

#include <algorithm>
#include <iterator>

#include "agent/api/job_state.h"
#include "agent/api/jobs.h"
#include "agent/api/json/view.h"
#include "agent/api/output.h"
#include "agent/api/payload.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_list.h"
#include "cli/kit/job_choice.h"
#include "cli/kit/quote.h"
#include "cli/kit/size.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/dropped_output.h"
#include "cli/verbs/request_options.h"
#include "cli/verbs/verb.h"
#include "cli/verbs/wait_text.h"

namespace muster::cli {
namespace {

constexpr std::size_t kGpuColumns = 16;
/// Where the words behind "state" and the like begin.
constexpr std::size_t kTextColumn = 11;

std::string or_default(Duration duration, const std::string& otherwise) {
  return duration == Duration(0) ? otherwise : format_duration(duration);
}

/// "silent 12s" of a member whose ranks are not known to be over, on a host that does not answer.
std::string missing_text(const agent::MemberInfo& member) {
  static constexpr std::string_view kOpen[] = {"assigned", "ready", "running", "stopping",
                                               "condemned"};
  const bool is_open =
      std::find(std::begin(kOpen), std::end(kOpen), member.state) != std::end(kOpen);
  if (!is_open || member.host_state.empty() || member.host_state == "alive") {
    return "";
  }
  return in_words(member.host_detail.empty() ? member.host_state : member.host_detail) + " " +
         format_age(member.host_since_ms);
}

/// " (host c silent 12s)" when that is what a reader must know beside the state.
std::string missing_hosts_text(const std::vector<agent::AttemptInfo>& attempts) {
  std::string text;
  if (!attempts.empty()) {
    for (const agent::MemberInfo& member : attempts.back().members) {
      const std::string missing = missing_text(member);
      if (!missing.empty()) {
        text += (text.empty() ? "host " : ", host ") + member.host_name + " " + missing;
      }
    }
  }
  return text.empty() ? "" : " (" + text + ")";
}

std::string request_lines_text(const scheduler::Request& request) {
  std::string text;
  for (const auto& [name, value] : request_lines(request)) {
    text += name + std::string(kTextColumn - name.size(), ' ') + printable(value) + "\n";
  }
  return text;
}

/// "3 running, 2 queued, 990 waiting, 4 completed, 1 failed"
std::string task_counts_text(const agent::JobSummary& job, const agent::ArrayInfo& array) {
  std::vector<std::string> counts;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) {
      counts.push_back(std::to_string(count) + " " + what);
    }
  };
  add(job.tasks_running, "running");
  add(array.queued, "queued");
  add(array.suspended, "suspended");
  add(array.waiting, "waiting for their turn");
  add(job.tasks_completed, "completed");
  add(job.tasks_failed, "failed");
  add(job.tasks_cancelled, "cancelled");
  return join(counts);
}

std::string failures_text(JobId id, const agent::ArrayInfo& array, const Screen& screen) {
  if (array.failures.empty() && array.failures_more == 0) {
    return "";
  }
  Table table({{.title = "FAILED"},
               {.title = "EXIT", .is_number = true},
               {.title = "HOSTS", .columns_min = 8},
               {.title = "CAUSE", .columns_min = 12}});
  for (const agent::TaskFailure& failure : array.failures) {
    table.add({text_of(failure.task), std::to_string(failure.exit_code),
               short_host_list(failure.hosts), in_words(failure.reason)});
  }
  const std::string job = text_of(id);
  const bool lists = !array.failures.empty();
  return "\n" + (lists ? table.text(screen) : "") +
         (array.failures_more == 0 ? ""
                                   : std::to_string(array.failures_more) + (lists ? " more" : "") +
                                         " failed; `muster jobs --tasks " + job +
                                         " --state failed` lists what is still kept\n") +
         (lists
              ? "`muster logs " + text_of(array.failures.front().task) + "` shows what one wrote\n"
              : "");
}

std::string summary_text(const Session& session, const agent::JobDetail& detail) {
  const agent::JobSummary& job = detail.summary;
  const std::string said = job.reason.empty() ? job.cause : reason_text(session, job);
  std::string text =
      "job        " + text_of(job.id) + " " + printable(job.name) + "\n" + "state      " +
      job.state + (job.is_doubtful ? "?" : "") +
      printable((said.empty() || said == job.state ? "" : ": " + said) +
                missing_hosts_text(detail.attempts)) +
      "\n" + "user       " + printable(job.user) + "\n" +
      (detail.spec.team.empty() ? "" : "team       " + printable(detail.spec.team) + "\n") +
      (job.queue.empty() ? "" : "queue      " + printable(job.queue) + "\n") +
      (job.tier.empty() ? "" : "tier       " + job.tier + "\n") +
      wait_lines(session, job.wait, kTextColumn) + "gpus       " +
      printable(request_text(detail.spec.request)) + "\n" +
      request_lines_text(detail.spec.request) + "priority   " + std::to_string(job.priority) +
      "\n" +
      (agent::is_ended(job.state) ? "exit       " + std::to_string(job.exit_code) + "\n" : "");
  if (job.tasks != 0) {
    const scheduler::ArrayRange& range = *detail.spec.array;
    text += "tasks      " + text_of(range) +
            (range.at_once == 0 ? "" : ", at most " + std::to_string(range.at_once) + " at once") +
            "; `muster jobs --tasks " + text_of(job.id) + "` lists those that began\n" +
            "now        " + task_counts_text(job, detail.array) + "\n";
  }
  if (!job.hosts.empty()) {
    text += "hosts      " + printable(join(job.hosts)) + "\n";
  }
  if (job.run_ms > 0) {
    text += "ran        " + format_after(std::chrono::milliseconds(job.run_ms)) + "\n";
  }
  return text;
}

/// Of a long variable --json has the rest.
std::string command_text(const agent::JobDetail& detail, const Screen& screen) {
  if (detail.is_private) {
    return "command    not shown: you may not read the output of this job\n";
  }
  const scheduler::Command& command = detail.spec.command;
  std::string text = "command    " + shell_quoted(command.argv) + "\n" +  //
                     "directory  " + printable(command.directory) + "\n";
  for (const std::string& variable : command.environment) {
    const bool is_first = &variable == &command.environment.front();
    const std::string line =
        (is_first ? "env        " : std::string(kTextColumn, ' ')) + shell_quoted(variable);
    text += (screen.columns == 0 ? line : truncate(line, screen.columns)) + "\n";
  }
  return text;
}

std::string spec_text(const agent::JobDetail& detail, const Screen& screen) {
  const scheduler::JobSpec& spec = detail.spec;
  const std::string hold =
      spec.limits.keep_when_isolated
          ? "keep (never stopped by silence)"
          : or_default(spec.limits.hold, "default (10m over several hosts, 2m on one)");
  return command_text(detail, screen) + "retries    " + std::to_string(spec.retry.retries) + "\n" +
         "isolation  " + hold + "\n" + "grace      " + format_duration(spec.limits.grace) + "\n" +
         "patience   " + format_duration(spec.limits.patience) + ", then " +
         (spec.retry.on_lost_host == scheduler::OnLostHost::kWait ? "wait" : "requeue") + "\n" +
         "limit      " + or_default(spec.limits.time_limit, "none") + "\n";
}

/// Hosts may be set differently; the one that answers speaks for itself.
std::string output_text(const agent::OutputRule& rule, const std::string& host) {
  return "output     kept " + format_duration(std::chrono::milliseconds(rule.age_ms)) +
         " after the end, up to " + format_size(rule.bytes) + " or " + std::to_string(rule.files) +
         " files on a host (set on " + host + ")\n";
}

/// Enough of a UUID to tell the GPUs of a host apart; --json has the whole.
std::string short_gpu(const std::string& uuid) {
  return uuid.size() <= kGpuColumns ? uuid : uuid.substr(0, kGpuColumns - 1) + "~";
}

/// The rank's own, or how many its host's ranks have together.
std::string gpu_text(const agent::MemberInfo& member, const agent::RankInfo& rank) {
  const std::uint64_t local = rank.rank - member.first_rank;
  if (member.gpus.size() == member.ranks.size() && local < member.gpus.size()) {
    return short_gpu(member.gpus[local]);
  }
  return member.gpus.empty() ? "none" : "all " + std::to_string(member.gpus.size());
}

std::string attempt_text(const agent::AttemptInfo& attempt, const Screen& screen) {
  Table table({{.title = "RANK", .is_number = true},
               {.title = "HOST"},
               {.title = "GPU", .columns_min = 12},
               {.title = "MEMBER", .is_state = true},
               {.title = "RESULT", .columns_min = 12},
               {.title = "DETAIL"}});
  for (const agent::MemberInfo& member : attempt.members) {
    const std::string missing = missing_text(member);
    const std::string state = member.state + (missing.empty() ? "" : ", " + missing);
    for (const agent::RankInfo& rank : member.ranks) {
      table.add({std::to_string(rank.rank), member.host_name, gpu_text(member, rank), state,
                 rank.state, rank.detail});
    }
    if (member.ranks.empty()) {
      table.add({std::to_string(member.first_rank), member.host_name, join(member.gpus, ","), state,
                 "", ""});
    }
  }
  return printable_lines("\nattempt " + std::to_string(attempt.number) + " (token " +
                         attempt.token.text() + ") " + attempt.state +
                         (attempt.cause.empty() ? "" : ": " + in_words(attempt.cause))) +
         (attempt.members.empty() && attempt.members_left_out > 0 ? "" : table.text(screen)) +
         printable_lines(dropped_lines(attempt)) +
         (attempt.members_left_out == 0 ? ""
                                        : "and " + std::to_string(attempt.members_left_out) +
                                              (attempt.members.empty() ? "" : " more") +
                                              " hosts that the answer has no room for\n");
}

/// The hour of the day; an older node says only what passed since the first one.
std::string transitions_text(Session& session,
                             const std::vector<agent::TransitionInfo>& transitions) {
  if (transitions.empty()) {
    return "";
  }
  Table table({{.title = "LOG", .is_number = true},
               {.title = "WHEN"},
               {.title = "STATE", .is_state = true},
               {.title = "CAUSE", .columns_min = 12}});
  const std::uint64_t first_ms = transitions.front().cluster_ms;
  for (const agent::TransitionInfo& transition : transitions) {
    const auto after = std::chrono::milliseconds(transition.cluster_ms - first_ms);
    table.add({transition.index == LogIndex() ? "-" : std::to_string(transition.index.value()),
               transition.unix_ms == 0 ? "+" + format_after(after)
                                       : session.world().clock.local_time(transition.unix_ms),
               transition.state, in_words(transition.cause)});
  }
  return "\n" + table.text(session.screen());
}

/// Of an ended job's hosts so many are asked for its output, each for so long.
constexpr std::size_t kHostsAsked = 4;
constexpr Duration kOutputTimeout = std::chrono::seconds(2);

class Show final : public Verb {
 public:
  void describe(Options& options) override {
    choice_.describe(options, "Jobs to show", true);
    common_.describe(options);
    common_.describe_consistent(options);
    options.example("muster show 17");
  }

  int run(Session& session) override {
    if (const Status status = choice_.check(); !status) {
      return session.fail(agent::ResponseStatus::kUsage, status.error().text);
    }
    auto jobs = choice_.plain_ids();
    if (!jobs.has_value()) {
      const auto list = read_jobs(session, choice_.arrays(), choice_.is_about_tasks());
      if (!list.has_value()) {
        return session.failed();
      }
      jobs.emplace();
      for (const agent::JobSummary& job : list->jobs) {
        if (choice_.matches(job, session.world().user_name())) {
          jobs->push_back(job.id);
        }
      }
      if (jobs->empty()) {
        return session.fail(agent::ResponseStatus::kNotFound,
                            "no such job; `muster jobs --all` lists them");
      }
    }
    int exit_code = 0;
    for (const JobId job : *jobs) {
      session.out() << (job != jobs->front() && !session.common().is_json ? "\n" : "");
      const int code = show(session, job);
      exit_code = exit_code == 0 ? code : exit_code;
    }
    return exit_code;
  }

 private:
  static int show(Session& session, JobId job) {
    const auto detail = session.read<agent::JobDetail>(agent::Verb::kShow,
                                                       agent::encode_payload(agent::JobRef{job}));
    if (!detail.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << to_json(*detail, session.last()) << "\n";
      return 0;
    }
    // The command stays whole, to be copied.
    session.out() << fitted(printable_lines(summary_text(session, *detail)), kTextColumn,
                            session.screen())
                  << printable_lines(spec_text(*detail, session.screen()) +
                                     output_text(detail->output_rule, session.last().answered_by));
    for (const agent::AttemptInfo& attempt : detail->attempts) {
      session.out() << attempt_text(attempt, session.screen());
    }
    session.out() << transitions_text(session, detail->transitions);
    if (detail->summary.tasks != 0) {
      session.out() << failures_text(detail->summary.id, detail->array, session.screen());
    }
    if (agent::is_ended(detail->summary.state) && !detail->attempts.empty()) {
      session.out() << printable_lines(pruned_text(session, detail->attempts.back()));
    }
    return 0;
  }

  /// Of output that is not there any more: which rule took it, as the hosts say that kept it.
  static std::string pruned_text(Session& session, const agent::AttemptInfo& attempt) {
    std::string text;
    std::size_t asked = 0;
    for (const agent::MemberInfo& member : attempt.members) {
      if (member.host_state != "alive" || ++asked > kHostsAsked) {
        continue;
      }
      agent::Request request;
      request.verb = agent::Verb::kOutput;
      request.target = member.host;
      request.arguments = agent::encode_payload(
          agent::OutputQuery{attempt.token, member.first_rank, UINT64_MAX, 0, false});
      const Reply reply =
          session.exchange(request, std::min(session.common().timeout, kOutputTimeout));
      if (reply.text.find(agent::kWasRemoved) != std::string::npos) {
        text += "output     gone: " + reply.text + "\n";
      }
    }
    return text.empty() ? "" : "\n" + text;
  }

  JobChoice choice_;
};

}  // namespace

std::unique_ptr<Verb> make_show() {
  return std::make_unique<Show>();
}

}  // namespace muster::cli
