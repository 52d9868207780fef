// muster priority: the place of a job that waits.

#include "agent/api/jobs.h"
#include "agent/api/json/orders.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/job_choice.h"
#include "cli/kit/retry.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

class Priority final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("JOB", job_, "Number of the waiting job");
    options.word("PRIORITY", priority_,
                 "New priority, as 10 or -5; higher runs first, 0 is the default of jobs");
    common_.describe(options);
    options.example("muster priority 17 10");
  }

  int run(Session& session) override {
    const auto job = parse_job(job_);
    const auto priority = parse_integer(priority_);
    if (!job || !priority || *priority < INT32_MIN || *priority > INT32_MAX) {
      return session.fail(ResponseStatus::kUsage,
                          !job        ? job.error().text
                          : !priority ? priority.error().text
                                      : "'" + priority_ + "' does not fit into 32 bits");
    }
    agent::Request request;
    request.verb = agent::Verb::kEdit;
    request.arguments = agent::encode_payload(agent::EditArgs{*job, *priority});
    request.user = session.world().user_name();
    Reply reply = exchange_with_retries(session, request).reply;
    if (!reply.is_ok()) {
      reply.text += reply.status == ResponseStatus::kUnknown
                        ? "; repeat with: muster priority " + job_ + " -- " + priority_
                        : "";
      return session.fail(reply);
    }
    session.out() << (session.common().is_json
                          ? agent::priority_json(*job, *priority)
                          : "job " + job_ + " has priority " + std::to_string(*priority))
                  << "\n";
    return 0;
  }

 private:
  std::string job_;
  std::string priority_;
};

}  // namespace

std::unique_ptr<Verb> make_priority() {
  return std::make_unique<Priority>();
}

}  // namespace muster::cli
