// muster why: what a job waits for, who has it, and what would start it now.

#include "agent/api/job_state.h"
#include "agent/api/jobs.h"
#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "cli/kit/job_choice.h"
#include "cli/verbs/request_options.h"
#include "cli/verbs/verb.h"
#include "cli/verbs/wait_text.h"
#include "cli/verbs/why_text.h"

namespace muster::cli {
namespace {

/// " is queued", " has failed", " was cancelled"
std::string phrase_of(const std::string& state) {
  return (state == "cancelled" ? " was " : agent::is_ended(state) ? " has " : " is ") + state;
}

/// Where the words behind "after" and the like begin, as in why_text().
constexpr std::size_t kWaitColumn = 9;

class Why final : public Verb {
 public:
  void describe(Options& options) override {
    options.words(
        "JOB", [this](const std::string& text) { return accept_job(text, job_); },
        "Number of the job (7) or array task (7.12)", 1);
    common_.describe(options);
    common_.describe_consistent(options);
    options.example("muster why 17");
  }

  int run(Session& session) override {
    if (job_ == JobId()) {
      return session.fail(agent::ResponseStatus::kUsage, "no job given: give its number");
    }
    const auto why =
        session.read<agent::WhyInfo>(agent::Verb::kWhy, agent::encode_payload(agent::JobRef{job_}));
    if (!why.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << to_json(*why, session.last()) << "\n";
      return 0;
    }
    session.out() << why_text(
        *why, "job " + text_of(why->job) + phrase_of(why->state) + ": " + why->headline,
        session.screen());
    session.out() << wait_lines(session, why->wait, kWaitColumn);
    return 0;
  }

 private:
  JobId job_;
};

}  // namespace

std::unique_ptr<Verb> make_why() {
  return std::make_unique<Why>();
}

}  // namespace muster::cli
