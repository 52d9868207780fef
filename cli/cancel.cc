// muster cancel: ends jobs, whether they wait or run.

#include "cli/json_view.h"
#include "cli/repeat.h"
#include "cli/verb.h"

namespace muster::cli {
namespace {

constexpr std::size_t kJobsMax = 1000;

class Cancel final : public Verb {
 public:
  void describe(Options& options) override {
    options.numbers("JOB", jobs_, "The jobs to cancel", kJobsMax);
    common_.describe(options);
    options.example("muster cancel 17 18");
  }

  int run(Session& session) override {
    std::vector<JobOutcome> outcomes;
    int exit_code = 0;
    for (const std::uint64_t number : jobs_) {
      outcomes.push_back(cancel(session, JobId(number)));
      // The first failure decides: a script sees at least one of them.
      exit_code = exit_code == 0 ? outcomes.back().exit_code : exit_code;
    }
    if (session.common().is_json) {
      session.out() << to_json("cancelled", outcomes) << "\n";
    }
    return exit_code;
  }

 private:
  JobOutcome cancel(Session& session, JobId job) {
    agent::Request request;
    request.verb = agent::Verb::kCancel;
    request.arguments = agent::encode_payload(agent::JobRef{job});
    request.user = session.world().user_name();
    const std::string number = std::to_string(job.value());
    const Reply reply = exchange_repeating(session, request).reply;
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
