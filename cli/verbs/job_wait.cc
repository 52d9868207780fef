#include "cli/verbs/job_wait.h"

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/job_state.h"
#include "cli/kit/json_view.h"
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
    session.out() << ended_json(job, key, code) << "\n";
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
  const std::string number = std::to_string(job.value());
  return session.fail(ResponseStatus::kUnknown, "job " + number + " was accepted, its end is " +
                                                    "unknown (" + reply.text +
                                                    "); look with: muster show " + number);
}

}  // namespace

int wait_for_end(Session& session, JobId job, const std::string& key) {
  agent::Request request;
  request.verb = agent::Verb::kShow;
  request.arguments = agent::encode_payload(agent::JobRef{job});
  std::string state;
  Instant last_word = session.world().clock.now();
  while (true) {
    const Reply reply = session.exchange(request);
    const Instant now = session.world().clock.now();
    if (reply.is_ok()) {
      const auto detail = agent::decode_payload<agent::JobDetail>(reply.response.payload);
      if (!detail.has_value()) {
        return session.fail(ResponseStatus::kFailed, "the node's answer is not understood");
      }
      last_word = now;
      if (is_ended(detail->summary.state)) {
        return report_end(session, detail->summary, key);
      }
      if (detail->summary.state != state) {
        state = detail->summary.state;
        session.progress("job " + std::to_string(job.value()) + " " + state);
      }
    } else if (reply.is_from_node && reply.status == ResponseStatus::kNoQuorum) {
      session.turn_to_next_node();
    }
    if (!reply.is_ok() && !is_passing(reply, now - last_word)) {
      return give_up(session, job, reply);
    }
    session.world().clock.sleep(kPollInterval);
  }
}

}  // namespace muster::cli
