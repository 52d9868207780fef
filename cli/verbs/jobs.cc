// muster jobs: all that wait or run, and the last ones that ended.

#include <algorithm>
#include <iterator>
#include <set>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "cli/kit/job_state.h"
#include "cli/kit/json_view.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

/// Ended jobs shown without --all.
constexpr std::size_t kEndedShown = 20;
/// Answers asked for; each holds hundreds of jobs at least.
constexpr std::size_t kPagesMax = 1000;

std::string gpus_text(const agent::JobSummary& job) {
  return std::to_string(job.gpus) + (job.gpu_type.empty() ? "" : "x" + job.gpu_type);
}

class Jobs final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    common_.describe_consistent(options);
    options.flag("-a,--all", all_, "Show all ended jobs, not the last 20 only");
    options.value(
        "--state", [this](const std::string& given) { return add_states(given); },
        "Only jobs in these states: " + join(state_names()), "STATE[,STATE...]");
    options.example("muster jobs --state queued,running");
  }

  int run(Session& session) override {
    auto list = read_all(session);
    if (!list.has_value()) {
      return session.failed();
    }
    const std::size_t hidden = filter(list->jobs);
    if (session.common().is_json) {
      session.out() << to_json(*list, hidden, session.last()) << "\n";
      return 0;
    }
    session.out() << table_of(*list);
    if (hidden > 0) {
      session.note(std::to_string(hidden) + " older ended jobs are not shown (--all)");
    }
    return 0;
  }

 private:
  /// Page by page; a job that is submitted meanwhile may or may not be among them.
  static std::optional<agent::JobList> read_all(Session& session) {
    agent::JobList all;
    for (std::size_t page = 0; page < kPagesMax; ++page) {
      auto list = session.read<agent::JobList>(agent::Verb::kJobs,
                                               agent::encode_payload(agent::JobsQuery{all.next}));
      if (!list.has_value()) {
        return std::nullopt;
      }
      std::move(list->jobs.begin(), list->jobs.end(), std::back_inserter(all.jobs));
      if (list->next <= all.next) {
        return all;
      }
      all.next = list->next;
    }
    session.note("there are more jobs than " + std::to_string(kPagesMax) + " answers hold");
    return all;
  }

  Status add_states(const std::string& given) {
    for (std::size_t start = 0; start <= given.size();) {
      const std::size_t end = std::min(given.find(',', start), given.size());
      const std::string name = given.substr(start, end - start);
      if (!is_state(name)) {
        return Error{ErrorCode::kInvalid,
                     "'" + name + "' is no job state, these are: " + join(state_names())};
      }
      states_.insert(name);
      start = end + 1;
    }
    return ok();
  }

  /// Keeps what is to be shown; how many ended jobs were left out for their age.
  std::size_t filter(std::vector<agent::JobSummary>& jobs) const {
    std::erase_if(jobs, [this](const agent::JobSummary& job) {
      return !states_.empty() && !states_.contains(job.state);
    });
    const auto ended = static_cast<std::size_t>(std::count_if(
        jobs.begin(), jobs.end(), [](const auto& job) { return is_ended(job.state); }));
    std::size_t surplus = all_ || ended <= kEndedShown ? 0 : ended - kEndedShown;
    const std::size_t hidden = surplus;
    std::erase_if(jobs, [&surplus](const agent::JobSummary& job) {
      const bool is_hidden = surplus > 0 && is_ended(job.state);
      surplus -= is_hidden ? 1 : 0;
      return is_hidden;
    });
    return hidden;
  }

  static std::string table_of(const agent::JobList& list) {
    Table table({{.title = "ID", .is_number = true},
                 {.title = "NAME", .columns_min = 12},
                 {.title = "STATE"},
                 {.title = "GPUS"},
                 {.title = "ATTEMPT", .is_number = true},
                 {.title = "HOSTS", .columns_min = 12},
                 {.title = "CAUSE", .columns_min = 12}});
    for (const agent::JobSummary& job : list.jobs) {
      table.add({std::to_string(job.id.value()), job.name, job.state, gpus_text(job),
                 std::to_string(job.attempt), join(job.hosts, ","), job.cause});
    }
    return table.text();
  }

  bool all_ = false;
  std::set<std::string> states_;
};

}  // namespace

std::unique_ptr<Verb> make_jobs() {
  return std::make_unique<Jobs>();
}

}  // namespace muster::cli
