// muster jobs: one's own jobs and what runs of others; any choice of jobs and columns.

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "agent/api/job_state.h"
#include "agent/api/jobs.h"
#include "agent/api/json/view.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_list.h"
#include "cli/kit/job_choice.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/job_columns.h"
#include "cli/verbs/slurm_hints.h"
#include "cli/verbs/verb.h"
#include "cli/verbs/wait_text.h"
#include "scheduler/protocol/queues.h"

namespace muster::cli {
namespace {

using agent::JobSummary;

/// Ended jobs shown without --all.
constexpr std::size_t kEndedShown = 20;
constexpr Duration kWatchInterval = std::chrono::seconds(2);
/// Clears the terminal and goes to its first line.
constexpr char kClearScreen[] = "\x1b[H\x1b[2J";

std::string gpus_text(const JobSummary& job) {
  if (job.gpus == 0) {
    return std::to_string(job.ranks) + " ranks";
  }
  return std::to_string(job.gpus) + (job.gpu_type.empty() ? "" : "x" + job.gpu_type);
}

/// It counts as running, and whether it does is not known.
std::string state_text(const JobSummary& job) {
  return job.state + (job.is_doubtful ? "?" : "");
}

std::string time_text(Session& session, std::uint64_t unix_ms) {
  return unix_ms == 0 ? "-" : session.world().clock.local_time(unix_ms);
}

/// A name for -o and --sort, and what stands there.
struct JobColumn {
  std::string_view name;
  Table::Column column;
  std::string (*text)(Session& session, const JobSummary& job);
  std::int64_t (*rank)(const JobSummary& job);  ///< To sort by; null = by the text.
};

template <class T>
std::int64_t number(T value) {
  return static_cast<std::int64_t>(value);
}

const std::array<JobColumn, 21> kColumns = {{
    {"id",
     {.title = "ID", .is_number = true},
     [](Session&, const JobSummary& j) { return text_of(j.id); },
     [](const JobSummary& j) { return number(j.id.value()); }},
    {"name",
     {.title = "NAME", .columns_min = 12},
     [](Session&, const JobSummary& j) { return j.name; },
     nullptr},
    {"user",
     {.title = "USER", .columns_min = 8},
     [](Session&, const JobSummary& j) { return j.user; },
     nullptr},
    {"state",
     {.title = "STATE", .columns_min = 10, .is_state = true},
     [](Session&, const JobSummary& j) { return state_text(j); },
     nullptr},
    {"gpus",
     {.title = "GPUS"},
     [](Session&, const JobSummary& j) { return gpus_text(j); },
     [](const JobSummary& j) { return number(j.gpus); }},
    {"hosts",
     {.title = "HOSTS", .columns_min = 8},
     [](Session&, const JobSummary& j) { return short_host_list(j.hosts); },
     nullptr},
    {"age",
     {.title = "AGE", .is_number = true},
     [](Session&, const JobSummary& j) { return format_age(j.age_ms); },
     [](const JobSummary& j) { return number(j.age_ms); }},
    {"time",
     {.title = "TIME", .is_number = true},
     [](Session&, const JobSummary& j) { return j.run_ms == 0 ? "-" : format_age(j.run_ms); },
     [](const JobSummary& j) { return number(j.run_ms); }},
    {"reason",
     {.title = "REASON", .columns_min = 32},
     [](Session& s, const JobSummary& j) { return reason_text(s, j); },
     nullptr},
    {"cause",
     {.title = "CAUSE", .columns_min = 12},
     [](Session&, const JobSummary& j) { return j.cause; },
     nullptr},
    {"attempt",
     {.title = "ATTEMPT", .is_number = true},
     [](Session&, const JobSummary& j) { return std::to_string(j.attempt); },
     [](const JobSummary& j) { return number(j.attempt); }},
    {"priority",
     {.title = "PRIORITY", .is_number = true},
     [](Session&, const JobSummary& j) { return std::to_string(j.priority); },
     [](const JobSummary& j) { return number(j.priority); }},
    {"type",
     {.title = "TYPE"},
     [](Session&, const JobSummary& j) { return j.gpu_type.empty() ? "any" : j.gpu_type; },
     nullptr},
    {"submit",
     {.title = "SUBMITTED", .columns_min = 19},
     [](Session& s, const JobSummary& j) { return time_text(s, j.submit_unix_ms); },
     [](const JobSummary& j) { return number(j.submit_unix_ms); }},
    {"start",
     {.title = "STARTED", .columns_min = 19},
     [](Session& s, const JobSummary& j) { return time_text(s, j.start_unix_ms); },
     [](const JobSummary& j) { return number(j.start_unix_ms); }},
    {"end",
     {.title = "ENDED", .columns_min = 19},
     [](Session& s, const JobSummary& j) { return time_text(s, j.end_unix_ms); },
     [](const JobSummary& j) { return number(j.end_unix_ms); }},
    {"exit",
     {.title = "EXIT", .is_number = true},
     [](Session&, const JobSummary& j) {
       return agent::is_ended(j.state) ? std::to_string(j.exit_code) : "-";
     },
     [](const JobSummary& j) { return number(j.exit_code); }},
    {"gpuhours",
     {.title = "GPU-HOURS", .is_number = true},
     [](Session&, const JobSummary& j) { return format_hours(j.gpu_ms); },
     [](const JobSummary& j) { return number(j.gpu_ms); }},
    {"nhosts",
     {.title = "NHOSTS", .is_number = true},
     [](Session&, const JobSummary& j) { return std::to_string(j.hosts.size()); },
     [](const JobSummary& j) { return number(j.hosts.size()); }},
    {"queue",
     {.title = "QUEUE", .columns_min = 8},
     [](Session&, const JobSummary& j) { return j.queue.empty() ? "-" : j.queue; },
     nullptr},
    {"tier",
     {.title = "TIER"},
     [](Session&, const JobSummary& j) { return j.tier.empty() ? "-" : j.tier; },
     nullptr},
}};

constexpr char kUsualColumns[] = "id,name,user,state,gpus,hosts,age,time,reason";
/// Once jobs are in several queues.
constexpr char kQueueColumns[] = "id,name,user,queue,state,gpus,hosts,age,time,reason";

/// Where nobody set queues, all jobs are in the queue default, or older nodes name none.
bool are_in_queues(const std::vector<JobSummary>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(), [](const JobSummary& job) {
    return !job.queue.empty() && job.queue != scheduler::kDefaultQueue;
  });
}

Result<std::vector<const JobColumn*>> columns_named(const std::string& names) {
  std::vector<const JobColumn*> columns;
  for (std::size_t start = 0; start <= names.size();) {
    const std::size_t end = std::min(names.find(',', start), names.size());
    const std::string name = names.substr(start, end - start);
    const auto found = std::find_if(kColumns.begin(), kColumns.end(),
                                    [&](const JobColumn& each) { return each.name == name; });
    if (found == kColumns.end()) {
      return Error{ErrorCode::kInvalid,
                   "'" + name + "' is not a column; the columns are: " + join(job_column_names())};
    }
    columns.push_back(&*found);
    start = end + 1;
  }
  return columns;
}

/// The number of jobs that were left out of a list, for people.
struct LeftOut {
  std::size_t ended = 0;   ///< For their age.
  std::size_t others = 0;  ///< Of other users, which do not run.
  std::size_t limit = 0;   ///< Beyond --limit.
};

class Jobs final : public Verb {
 public:
  void describe(Options& options) override {
    choice_.describe(options, "Jobs to list", false);
    choice_.describe_tasks(options);
    options.value(
        "--sort", [this](const std::string& given) { return take_sort(given); },
        "Sort by this column; -COLUMN reverses the order (default id)", "COLUMN");
    options.value(
        "-o,--columns", [this](const std::string& given) { return take_columns(given); },
        "Show these columns (default " + std::string(kUsualColumns) +
            ", and queue if some job is in another queue than default); more columns: cause, "
            "attempt, priority, tier, type, submit, start, end, exit, gpuhours, nhosts",
        "COLUMN[,COLUMN...]");
    options.number("--limit", limit_,
                   "Show at most N jobs: the newest, or with --sort the first; 0 shows all but "
                   "older ended jobs");
    options.flag("--no-header", no_header_, "Omit the header line, for scripts");
    options.flag("-w,--watch", watch_, "Refresh every 2 s until interrupted");
    common_.describe(options);
    common_.describe_consistent(options);
    options.hints(jobs_hints());
    options.example("muster jobs --state queued,running --sort -gpus");
  }

  int run(Session& session) override {
    if (const Status status = choice_.check(); !status) {
      return session.fail(agent::ResponseStatus::kUsage, status.error().text);
    }
    if (!watch_) {
      return show(session, "");
    }
    int code = 0;
    while (session.out().good()) {
      // --watch goes on through an election or a node's restart; the line says what is amiss.
      code = show(session, session.common().is_json ? "" : kClearScreen);
      session.out() << std::flush;
      session.world().clock.sleep(kWatchInterval);
    }
    return code;
  }

 private:
  int show(Session& session, const std::string& first) {
    auto list = read_jobs(session, choice_.arrays(), choice_.is_about_tasks());
    if (!list.has_value()) {
      return session.failed();
    }
    const std::vector<JobId> missing = missing_among(list->jobs);
    const LeftOut left_out = filter(session, list->jobs);
    if (!missing.empty() && list->jobs.empty()) {
      return session.fail(agent::ResponseStatus::kNotFound, missing_text(missing));
    }
    if (session.common().is_json) {
      session.out() << to_json(*list, left_out.ended + left_out.others + left_out.limit,
                               session.last())
                    << "\n";
    } else {
      session.out() << first << table_of(session, *list);
      if (!watch_) {
        tell_left_out(session, left_out);
        if (list->gpus_of_others != 0) {
          session.note(std::to_string(list->gpus_of_others) + " GPUs of other teams");
        }
      }
    }
    if (missing.empty()) {
      return 0;
    }
    session.note(missing_text(missing));
    return static_cast<int>(agent::ResponseStatus::kNotFound);
  }

  /// Of those that are named one by one.
  std::vector<JobId> missing_among(const std::vector<JobSummary>& jobs) const {
    std::vector<JobId> missing = choice_.single_ids();
    std::erase_if(missing, [&](JobId id) {
      return std::any_of(jobs.begin(), jobs.end(),
                         [&](const JobSummary& job) { return job.id == id; });
    });
    return missing;
  }

  static std::string missing_text(const std::vector<JobId>& missing) {
    std::vector<std::string> numbers;
    for (const JobId id : missing) {
      numbers.push_back(text_of(id));
    }
    const bool is_of_array = is_task(missing.front());
    return "there is no job " + join(numbers, ", ") +
           (is_of_array ? " yet, or any more: `muster show " + text_of(array_of(missing.front())) +
                              "` counts the tasks"
                        : "; `muster jobs --all` lists them");
  }

  void tell_left_out(Session& session, const LeftOut& left_out) const {
    std::vector<std::string> parts;
    if (const std::size_t count = left_out.ended + left_out.limit; count > 0) {
      parts.push_back(std::to_string(count) +
                      (limit_ == 0  ? count == 1 ? " older ended job" : " older ended jobs"
                       : count == 1 ? " more job"
                                    : " more jobs"));
    }
    if (left_out.others > 0) {
      parts.push_back(std::to_string(left_out.others) + " of others that do not run");
    }
    if (!parts.empty()) {
      session.note(join(parts, " and ") + " not shown (--all, --limit N)");
    }
  }

  Status take_sort(const std::string& given) {
    is_backwards_ = given.starts_with("-");
    const auto columns = columns_named(given.substr(is_backwards_ ? 1 : 0));
    if (!columns) {
      return columns.error();
    }
    if (columns->size() != 1) {
      return Error{ErrorCode::kInvalid, "give one column"};
    }
    sort_ = columns->front();
    return ok();
  }

  Status take_columns(const std::string& given) {
    const auto columns = columns_named(given);
    if (!columns) {
      return columns.error();
    }
    columns_ = *columns;
    return ok();
  }

  /// Keeps what is to be shown, in its order.
  LeftOut filter(Session& session, std::vector<JobSummary>& jobs) const {
    LeftOut left_out;
    const std::string me = session.world().user_name();
    std::erase_if(jobs, [&](const JobSummary& job) { return !choice_.matches_but_for_user(job); });
    if (!choice_.is_of_all_users() && !choice_.has_ids()) {
      left_out.others = std::erase_if(jobs, [&](const JobSummary& job) {
        const bool is_running =
            job.state == "running" || job.state == "scheduled" || job.state == "stopping";
        return job.user != me && !is_running;
      });
    }
    const auto ended = static_cast<std::size_t>(std::count_if(
        jobs.begin(), jobs.end(), [](const auto& job) { return agent::is_ended(job.state); }));
    const bool is_whole = choice_.has_all() || choice_.has_ids() || choice_.has_filter();
    // In another order the first may be the oldest.
    const std::size_t ended_shown = limit_ == 0 ? kEndedShown : sort_ == nullptr ? limit_ : ended;
    std::size_t surplus = is_whole || ended <= ended_shown ? 0 : ended - ended_shown;
    left_out.ended = surplus;
    std::erase_if(jobs, [&surplus](const JobSummary& job) {
      const bool is_hidden = surplus > 0 && agent::is_ended(job.state);
      surplus -= is_hidden ? 1 : 0;
      return is_hidden;
    });
    order(session, jobs);
    if (limit_ != 0 && jobs.size() > limit_) {
      left_out.limit = jobs.size() - limit_;
      // Of those in the order of their ids the newest are wanted; of another order its first.
      const auto cut = static_cast<std::ptrdiff_t>(left_out.limit);
      sort_ == nullptr ? jobs.erase(jobs.begin(), jobs.begin() + cut)
                       : jobs.erase(jobs.end() - cut, jobs.end());
    }
    return left_out;
  }

  void order(Session& session, std::vector<JobSummary>& jobs) const {
    if (sort_ == nullptr) {
      return;
    }
    const auto is_before = [&](const JobSummary& a, const JobSummary& b) {
      return sort_->rank != nullptr ? sort_->rank(a) < sort_->rank(b)
                                    : sort_->text(session, a) < sort_->text(session, b);
    };
    std::stable_sort(jobs.begin(), jobs.end(), [&](const JobSummary& a, const JobSummary& b) {
      return is_backwards_ ? is_before(b, a) : is_before(a, b);
    });
  }

  std::string table_of(Session& session, const agent::JobList& list) const {
    const auto columns =
        !columns_.empty()
            ? columns_
            : *columns_named(are_in_queues(list.jobs) ? kQueueColumns : kUsualColumns);
    std::vector<Table::Column> titles;
    for (const JobColumn* each : columns) {
      titles.push_back(each->column);
    }
    Table table(titles);
    for (const JobSummary& job : list.jobs) {
      std::vector<std::string> cells;
      for (const JobColumn* each : columns) {
        cells.push_back(each->text(session, job));
      }
      table.add(std::move(cells));
    }
    const std::string text = table.text(session.screen());
    return no_header_ ? text.substr(text.find('\n') + 1) : text;
  }

  JobChoice choice_;
  std::vector<const JobColumn*> columns_;
  const JobColumn* sort_ = nullptr;
  bool is_backwards_ = false;
  std::uint64_t limit_ = 0;
  bool no_header_ = false;
  bool watch_ = false;
};

}  // namespace

std::vector<std::string> job_column_names() {
  std::vector<std::string> names;
  for (const JobColumn& each : kColumns) {
    names.emplace_back(each.name);
  }
  return names;
}

std::unique_ptr<Verb> make_jobs() {
  return std::make_unique<Jobs>();
}

}  // namespace muster::cli
