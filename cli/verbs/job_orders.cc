// muster cancel, suspend, resume, requeue: an operator's word about jobs, through any node.
//
// Each may be said again: what is so already is a success. A requeue names the attempt that is to
// make way, so that its repetition never stops the attempt after it. Jobs are named by their ids,
// or chosen: then one's own are meant, and more than a few are asked about first.

#include <algorithm>
#include <array>

#include "agent/api/job_state.h"
#include "agent/api/jobs.h"
#include "agent/api/json/orders.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/confirmation.h"
#include "cli/kit/job_choice.h"
#include "cli/kit/retry.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

/// More are asked about first.
constexpr std::size_t kUnaskedMax = 10;

bool goes_on(const std::string& state) {
  return !agent::is_ended(state);
}
bool goes_on_unsuspended(const std::string& state) {
  return !agent::is_ended(state) && state != "suspended";
}
bool is_suspended(const std::string& state) {
  return state == "suspended";
}

/// One word, how people say it, and how it differs from the others.
struct Word {
  agent::Verb verb;
  std::string_view name;
  std::string_view done;  ///< "job 7 DONE"; also the key of --json.
  std::string_view which;
  /// Of what is in such a state a choice may mean it; a job that is named is asked about anyway.
  bool (*applies_to)(const std::string& state);
  /// An earlier try of it may have come to another state than `done`; "" = it cannot.
  std::array<std::string_view, 2> also_done;
  /// The jobs end for good: a run of tasks takes one word, and many are asked about first.
  bool ends_jobs = false;
  bool names_attempt = false;  ///< The order ends no attempt but the one that was meant.
};

constexpr Word kCancel{
    agent::Verb::kCancel, "cancel", "cancelled", "Jobs to cancel", goes_on, {}, true};
constexpr Word kSuspend{agent::Verb::kSuspend, "suspend",           "suspended",
                        "Jobs to suspend",     goes_on_unsuspended, {}};
constexpr Word kResume{agent::Verb::kResume, "resume",     "resumed",
                       "Jobs to resume",     is_suspended, {"completed", "failed"}};
constexpr Word kRequeue{
    agent::Verb::kRequeue, "requeue", "requeued", "Jobs to requeue", goes_on, {}, false, true};

class JobOrders final : public Verb {
 public:
  explicit JobOrders(const Word& word) : word_(word) {}

  void describe(Options& options) override {
    choice_.describe(options, std::string(word_.which), true);
    confirmation_.describe(options);
    common_.describe(options);
    options.example("muster " + std::string(word_.name) + " 17 18");
  }

  int run(Session& session) override {
    if (const Status status = choice_.check(); !status) {
      return session.fail(ResponseStatus::kUsage, status.error().text);
    }
    // The leader takes a run of tasks in one word; of other words each is told.
    const bool takes_runs = word_.ends_jobs && !choice_.has_filter();
    const std::vector<JobRange> runs = takes_runs ? choice_.task_runs() : std::vector<JobRange>();
    int failed = 0;
    auto jobs = takes_runs && choice_.has_task_runs_alone() ? std::optional(std::vector<JobId>())
                                                            : chosen(session, failed);
    if (!jobs.has_value()) {
      return failed;
    }
    if (!is_agreed_of_tasks(session, runs, *jobs, failed)) {
      return failed;
    }
    std::vector<agent::JobOutcome> outcomes;
    int exit_code = 0;
    for (const JobRange& run : runs) {
      outcomes.push_back(order(session, JobId(run.first), JobId(run.last)));
      exit_code = exit_code == 0 ? outcomes.back().exit_code : exit_code;
      std::erase_if(*jobs,
                    [&](JobId job) { return run.first <= job.value() && job.value() <= run.last; });
    }
    for (const JobId job : *jobs) {
      outcomes.push_back(order(session, job));
      // The first failure decides: a script sees at least one of them.
      exit_code = exit_code == 0 ? outcomes.back().exit_code : exit_code;
    }
    if (session.common().is_json) {
      session.out() << to_json(word_.done, outcomes) << "\n";
    }
    return exit_code;
  }

 private:
  /// nullopt after a failure that was printed; `failed` is its exit code.
  std::optional<std::vector<JobId>> chosen(Session& session, int& failed) const {
    if (auto ids = choice_.plain_ids(); ids.has_value()) {
      return is_agreed(session, *ids, failed) ? ids : std::nullopt;
    }
    const auto list = read_jobs(session, choice_.arrays(), choice_.is_about_tasks());
    if (!list.has_value()) {
      failed = session.failed();
      return std::nullopt;
    }
    std::vector<JobId> ids;
    for (const agent::JobSummary& job : list->jobs) {
      if (word_.applies_to(job.state) && choice_.matches(job, session.world().user_name())) {
        ids.push_back(job.id);
      }
    }
    for (const JobId id : choice_.single_ids()) {
      // The leader says what is amiss with one that is named.
      if (!choice_.has_filter() && std::find(ids.begin(), ids.end(), id) == ids.end()) {
        ids.push_back(id);
      }
    }
    if (ids.empty()) {
      failed = session.fail(
          ResponseStatus::kNotFound,
          "no job of " +
              (choice_.user().empty() ? std::string(choice_.has_all() ? "anybody" : "yours")
                                      : choice_.user()) +
              " that could be " + std::string(word_.done) + " is among those");
      return std::nullopt;
    }
    return is_agreed(session, ids, failed) ? std::optional(ids) : std::nullopt;
  }

  bool is_agreed(Session& session, const std::vector<JobId>& ids, int& failed) const {
    if (ids.size() <= kUnaskedMax) {
      return true;
    }
    return is_agreed(session, std::to_string(ids.size()) + " jobs", failed);
  }

  bool is_agreed(Session& session, const std::string& what, int& failed) const {
    if (confirmation_.is_agreed(session, std::string(word_.name) + " " + what + "?")) {
      return true;
    }
    failed =
        session.fail(ResponseStatus::kUsage, "nothing was done: to " + std::string(word_.name) +
                                                 " " + what + " at once, use --yes");
    return false;
  }

  /// Whether it is agreed to cancel runs of tasks, and arrays as a whole, however few words they
  /// are: what was cancelled never runs.
  bool is_agreed_of_tasks(Session& session, const std::vector<JobRange>& runs,
                          const std::vector<JobId>& jobs, int& failed) const {
    if (!word_.ends_jobs || confirmation_.is_given()) {
      return true;
    }
    std::uint64_t tasks = 0;
    for (const JobRange& run : runs) {
      tasks += run.last - run.first + 1;
    }
    if (tasks > kUnaskedMax && !is_agreed(session, std::to_string(tasks) + " tasks", failed)) {
      return false;
    }
    for (const JobId job : jobs) {
      Reply reply;
      const auto detail = is_task(job) ? std::nullopt : show(session, job, reply, false);
      // Of what cannot be told now the order itself says why.
      if (detail.has_value() && detail->summary.tasks > 0 &&
          !agent::is_ended(detail->summary.state) &&
          !is_agreed(
              session,
              "all " + std::to_string(detail->summary.tasks) + " tasks of job " + text_of(job),
              failed)) {
        return false;
      }
    }
    return true;
  }

  /// `last`: of a run of tasks, else none.
  agent::JobOutcome order(Session& session, JobId job, JobId last = {}) {
    const std::string name =
        text_of(job) + (last == JobId() ? "" : "-" + std::to_string(index_of_task(last)));
    agent::Request request;
    request.verb = word_.verb;
    request.arguments = last == JobId() ? agent::encode_payload(agent::JobRef{job})
                                        : agent::encode_payload(agent::JobRun{job, last.value()});
    request.user = session.world().user_name();
    std::uint64_t attempt = 0;
    if (word_.names_attempt) {
      Reply reply;
      const auto detail = show(session, job, reply);
      if (!detail.has_value()) {
        return failed(session, job, reply);
      }
      attempt = detail->summary.attempt;
      request.arguments = agent::encode_payload(agent::RequeueArgs{job, attempt});
    }
    auto [reply, may_be_done] = exchange_with_retries(session, request);
    if (reply.status == ResponseStatus::kConflict && may_be_done) {
      // An earlier try may have done it, and the job went on from there.
      Reply look;
      const auto detail = show(session, job, look);
      if (detail.has_value() && is_done(detail->summary, attempt)) {
        reply.status = ResponseStatus::kOk;
      }
    }
    if (!reply.is_ok()) {
      return failed(session, job, reply);
    }
    if (!session.common().is_json) {
      session.out() << (last == JobId() ? "job " : "jobs ") << name << " " << word_.done << "\n";
    }
    return {job, 0, ""};
  }

  /// The job as a voter knows it, or the leader; without it `reply` says why, and nothing was
  /// ordered.
  static std::optional<agent::JobDetail> show(Session& session, JobId job, Reply& reply,
                                              bool is_consistent = true) {
    agent::Request request;
    request.verb = agent::Verb::kShow;
    request.consistent = is_consistent;
    request.user = session.world().user_name();
    request.arguments = agent::encode_payload(agent::JobRef{job});
    reply = exchange_with_retries(session, request).reply;
    if (!reply.is_ok()) {
      const bool is_open = reply.status == ResponseStatus::kUnknown;
      reply.status = is_open ? ResponseStatus::kNoQuorum : reply.status;
      return std::nullopt;
    }
    auto detail = agent::decode_payload<agent::JobDetail>(reply.response.payload);
    if (!detail.has_value()) {
      reply.status = ResponseStatus::kFailed;
      reply.text = kUnreadableAnswer;
    }
    return detail;
  }

  bool is_done(const agent::JobSummary& job, std::uint64_t attempt) const {
    return word_.names_attempt ? job.attempt > attempt
                               : !job.state.empty() &&
                                     (job.state == word_.done || job.state == word_.also_done[0] ||
                                      job.state == word_.also_done[1]);
  }

  agent::JobOutcome failed(Session& session, JobId job, const Reply& reply) const {
    const std::string number = text_of(job);
    const bool is_unknown = reply.status == ResponseStatus::kUnknown;
    // The leader's text about a job names the job.
    const bool is_named = reply.text.starts_with("job " + number + " ") ||
                          reply.text.starts_with("there is no job " + number);
    const std::string subject = is_named ? "" : "job " + number + ": ";
    const std::string text =
        subject + reply.text +
        (is_unknown ? "; repeat with: muster " + std::string(word_.name) + " " + number : "");
    session.note(text);
    return {job, static_cast<int>(reply.status), text, retry_after_ms(reply)};
  }

  Word word_;
  JobChoice choice_;
  Confirmation confirmation_;
};

}  // namespace

std::unique_ptr<Verb> make_cancel() {
  return std::make_unique<JobOrders>(kCancel);
}
std::unique_ptr<Verb> make_suspend() {
  return std::make_unique<JobOrders>(kSuspend);
}
std::unique_ptr<Verb> make_resume() {
  return std::make_unique<JobOrders>(kResume);
}
std::unique_ptr<Verb> make_requeue() {
  return std::make_unique<JobOrders>(kRequeue);
}

}  // namespace muster::cli
