#include "cli/verbs/job_wait.h"

#include "agent/api/job_state.h"
#include "agent/api/jobs.h"
#include "agent/api/json/orders.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/host_list.h"
#include "cli/kit/retry.h"
#include "cli/kit/text.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

constexpr Duration kPollInterval = std::chrono::milliseconds(500);
/// Longest outage of the node that is sat out; a planned restart or an election is far below.
constexpr Duration kOutageMax = std::chrono::minutes(10);
/// A node behind the leader does not know a new job yet.
constexpr Duration kUnknownJobMax = std::chrono::seconds(10);
constexpr std::int64_t kExitCodeMax = 255;

/// A job that did not complete never looks like success, whatever code it carries.
int exit_code_of(const agent::JobSummary& job) {
  const bool fits = job.exit_code >= 0 && job.exit_code <= kExitCodeMax;
  const int code = fits ? static_cast<int>(job.exit_code) : 1;
  return job.state != "completed" && code == 0 ? 1 : code;
}

int report_end(Session& session, const agent::JobSummary& job, const std::string& key) {
  const int code = exit_code_of(job);
  session.err() << "job " << job.id.value() << " exited " << code
                << (job.state == "completed" ? ""
                                             : printable(" (" + job.state + ": " + job.cause + ")"))
                << "\n"
                << std::flush;
  if (session.common().is_json) {
    session.out() << agent::ended_json(job, key, code) << "\n";
  }
  return code;
}

bool is_passing(const Reply& reply, Duration outage) {
  if (reply.status == ResponseStatus::kNotFound) {
    return outage <= kUnknownJobMax;
  }
  const bool may_heal =
      reply.status == ResponseStatus::kUnknown || reply.status == ResponseStatus::kNoQuorum;
  return may_heal && outage <= kOutageMax;
}

int give_up(Session& session, JobId job, const Reply& reply) {
  const std::string number = text_of(job);
  return session.fail(ResponseStatus::kUnknown, "job " + number + " was accepted, its end is " +
                                                    "unknown (" + reply.text +
                                                    "); look with: muster show " + number);
}

}  // namespace

namespace {

constexpr int kExitInterrupted = 128 + 2;

/// "job 7 queued: behind 3 jobs", "job 7 running on gpu[1-4]"
std::string change_text(const agent::JobSummary& job) {
  const std::string text = "job " + text_of(job.id) + " " + job.state;
  if (job.state == "running" || job.state == "scheduled") {
    return text + (job.hosts.empty() ? "" : " on " + short_host_list(job.hosts)) +
           (job.is_doubtful ? ": " + job.reason : "");
  }
  return text + (job.reason.empty() ? "" : ": " + job.reason);
}

/// "retries in 8s" is one word, however its seconds go by.
std::string without_seconds(const std::string& reason) {
  return reason.starts_with("retries in ") ? "retries" : reason;
}

/// After Ctrl-C. The job was cancelled, and its end is waited for: nothing.
std::optional<int> leave_or_cancel(Session& session, JobId job) {
  const std::string number = text_of(job);
  if (session.world().terminal.ask) {
    const auto answer = session.world().terminal.ask("\ncancel job " + number +
                                                     ", or leave it as it is? [cancel/leave] ");
    if (answer == "cancel" || answer == "c") {
      agent::Request request;
      request.verb = agent::Verb::kCancel;
      request.arguments = agent::encode_payload(agent::JobRef{job});
      request.user = session.world().user_name();
      const Reply reply = exchange_with_retries(session, request).reply;
      if (reply.is_ok()) {
        return std::nullopt;
      }
      session.note("job " + number + " was not cancelled: " + reply.text);
    }
  }
  session.note("job " + number + " was left as it is: muster show " + number);
  return kExitInterrupted;
}

}  // namespace

int wait_for_end(Session& session, JobId job, const std::string& key) {
  agent::Request request;
  request.verb = agent::Verb::kShow;
  request.arguments = agent::encode_payload(agent::JobRef{job});
  std::string told;
  Instant last_word = session.world().clock.now();
  session.world().terminal.take_interrupt();
  while (true) {
    const Reply reply = session.exchange(request);
    const Instant now = session.world().clock.now();
    if (reply.is_ok()) {
      const auto detail = agent::decode_payload<agent::JobDetail>(reply.response.payload);
      if (!detail.has_value()) {
        return session.fail(ResponseStatus::kFailed, kUnreadableAnswer);
      }
      last_word = now;
      if (agent::is_ended(detail->summary.state)) {
        return report_end(session, detail->summary, key);
      }
      const agent::JobSummary& job_now = detail->summary;
      // Its reason counts the seconds of a silent host.
      std::string what = job_now.state + (job_now.is_doubtful ? "?" : "") +
                         short_host_list(job_now.hosts) +
                         (job_now.state == "queued" ? without_seconds(job_now.reason) : "");
      if (what != told) {
        told = std::move(what);
        session.err() << printable(change_text(job_now)) << "\n" << std::flush;
      }
    } else if (reply.is_from_node && reply.status == ResponseStatus::kNoQuorum) {
      session.turn_to_next_node();
    }
    if (!reply.is_ok() && !is_passing(reply, now - last_word)) {
      return give_up(session, job, reply);
    }
    session.world().clock.sleep(kPollInterval);
    if (session.world().terminal.take_interrupt()) {
      if (const auto code = leave_or_cancel(session, job); code.has_value()) {
        return *code;
      }
    }
  }
}

}  // namespace muster::cli
