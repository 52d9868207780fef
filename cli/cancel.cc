// muster cancel: ends jobs, whether they wait or run.

#include <algorithm>

#include "cli/json_view.h"
#include "cli/verb.h"

namespace muster::cli {
namespace {

constexpr std::size_t kJobsMax = 1000;

/// Another try may tell more.
bool is_open(const Reply& reply) {
  return reply.status == agent::ResponseStatus::kUnknown ||
         (reply.status == agent::ResponseStatus::kNoQuorum && !reply.is_from_node);
}

class Cancel final : public Verb {
 public:
  void describe(Options& options) override {
    options.numbers("JOB", jobs_, "The jobs to cancel", kJobsMax);
    common_.describe(options);
    options.example("muster cancel 17 18");
  }

  int run(Session& session) override {
    std::vector<CancelOutcome> outcomes;
    int exit_code = 0;
    for (const std::uint64_t number : jobs_) {
      outcomes.push_back(cancel(session, JobId(number)));
      // The first failure decides: a script sees at least one of them.
      exit_code = exit_code == 0 ? outcomes.back().exit_code : exit_code;
    }
    if (session.common().is_json) {
      session.out() << to_json(outcomes) << "\n";
    }
    return exit_code;
  }

 private:
  CancelOutcome cancel(Session& session, JobId job) {
    agent::Request request;
    request.verb = agent::Verb::kCancel;
    request.arguments = agent::encode_payload(agent::JobRef{job});
    request.user = session.world().user_name();
    const std::string number = std::to_string(job.value());
    Reply reply = session.exchange(request);
    bool may_be_done = reply.status == agent::ResponseStatus::kUnknown;
    // Cancelling twice is cancelling once: at the next node, or once more at the only one.
    const std::size_t tries_max = std::max<std::size_t>(session.nodes_count(), may_be_done ? 2 : 1);
    for (std::size_t tries = 1; tries < tries_max && is_open(reply); ++tries) {
      reply = session.exchange(request);
      may_be_done = may_be_done || reply.status == agent::ResponseStatus::kUnknown;
    }
    if (may_be_done && reply.status == agent::ResponseStatus::kNoQuorum) {
      reply.status = agent::ResponseStatus::kUnknown;
    }
    if (reply.is_ok()) {
      if (!session.common().is_json) {
        session.out() << "job " << number << " cancelled\n";
      }
      return {job, 0, ""};
    }
    const bool is_unknown = reply.status == agent::ResponseStatus::kUnknown;
    const std::string text = "job " + number + ": " + reply.text +
                             (is_unknown ? "; repeat with: muster cancel " + number : "");
    session.note(text);
    return {job, static_cast<int>(reply.status), text};
  }

  std::vector<std::uint64_t> jobs_;
};

}  // namespace

std::unique_ptr<Verb> make_cancel() {
  return std::make_unique<Cancel>();
}

}  // namespace muster::cli
