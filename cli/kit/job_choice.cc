#include "cli/kit/job_choice.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/api/job_state.h"
#include "agent/api/payload.h"
#include "cli/kit/text.h"

namespace muster::cli {
namespace {

/// Answers asked for; each holds hundreds of jobs at least.
constexpr std::size_t kJobPagesMax = 1000;

}  // namespace

namespace {

/// The tasks of "7.0-99", whose dot is at `dot`.
Result<JobRange> parse_task_range(const std::string& text, std::size_t dot) {
  const std::size_t dash = text.find('-', dot);
  const auto array = parse_number(text.substr(0, dot));
  const auto first = parse_number(text.substr(dot + 1, dash - dot - 1));
  const auto last = dash == std::string::npos ? first : parse_number(text.substr(dash + 1));
  if (!array || !first || !last || *array == 0 || *array >= kFirstTask.value() >> kTaskBits ||
      *first > kTaskIndexMax || *last > kTaskIndexMax) {
    return Error{ErrorCode::kInvalid,
                 "'" + text + "' is not a task: write 7.12, " + "or 7.0-99 for a range"};
  }
  if (*last < *first) {
    return Error{ErrorCode::kInvalid, "'" + text + "' ends before it begins"};
  }
  const auto task = [&](std::uint64_t index) {
    return task_id(JobId(*array), static_cast<std::uint32_t>(index)).value();
  };
  return JobRange{task(*first), task(*last)};
}

}  // namespace

Result<JobId> parse_job(const std::string& text) {
  const Result<JobRange> range = parse_job_range(text);
  if (!range) {
    return range.error();
  }
  if (range->first != range->last) {
    return Error{ErrorCode::kInvalid, "'" + text + "' is more than one job"};
  }
  return JobId(range->first);
}

Status accept_job(const std::string& text, JobId& job) {
  const Result<JobId> given = parse_job(text);
  job = given ? *given : job;
  return given ? ok() : Status(given.error());
}

Result<JobRange> parse_job_range(const std::string& text) {
  if (const std::size_t dot = text.find('.'); dot != std::string::npos) {
    return parse_task_range(text, dot);
  }
  const std::size_t dash = text.find('-');
  const auto first = parse_number(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : parse_number(text.substr(dash + 1));
  if (!first || !last || *first == 0) {
    return Error{ErrorCode::kInvalid,
                 "'" + text + "' is not a job: write 100, or 100-120 for a range"};
  }
  if (*last < *first) {
    return Error{ErrorCode::kInvalid, "'" + text + "' ends before it begins"};
  }
  if (*last - *first >= kJobRangeMax) {
    return Error{ErrorCode::kInvalid,
                 "'" + text + "' names more than " + std::to_string(kJobRangeMax) + " jobs"};
  }
  return JobRange{*first, *last};
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  // Where to go on when the text behind the last star was not it.
  std::size_t at = 0;
  std::size_t in = 0;
  std::optional<std::size_t> star;
  std::size_t from = 0;
  while (in < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      from = in;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in])) {
      ++at;
      ++in;
    } else if (star.has_value()) {
      at = *star + 1;
      in = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

namespace {

/// Adds them to `all`. False: the failure was printed.
bool read_pages(Session& session, JobId array, agent::JobList& all) {
  agent::JobsQuery query{JobId(), array};
  for (std::size_t page = 0; page < kJobPagesMax; ++page) {
    auto list = session.read<agent::JobList>(agent::Verb::kJobs, agent::encode_payload(query));
    if (!list.has_value()) {
      return false;
    }
    std::move(list->jobs.begin(), list->jobs.end(), std::back_inserter(all.jobs));
    if (list->next <= query.after) {
      return true;
    }
    query.after = list->next;
  }
  session.note("there are more jobs than " + std::to_string(kJobPagesMax) + " answers hold");
  return true;
}

}  // namespace

std::optional<agent::JobList> read_jobs(Session& session, std::set<JobId> arrays,
                                        bool with_running_tasks) {
  agent::JobList all;
  bool is_read = read_pages(session, JobId(), all);
  for (const agent::JobSummary& job : all.jobs) {
    if (with_running_tasks && job.tasks_running != 0) {
      arrays.insert(job.id);
    }
  }
  for (auto array = arrays.begin(); is_read && array != arrays.end(); ++array) {
    is_read = read_pages(session, *array, all);
  }
  return is_read ? std::optional(std::move(all)) : std::nullopt;
}

std::optional<agent::JobList> read_tasks(Session& session, JobId array) {
  agent::JobList tasks;
  return read_pages(session, array, tasks) ? std::optional(std::move(tasks)) : std::nullopt;
}

void JobChoice::describe(Options& options, const std::string& which, bool is_required) {
  is_required_ = is_required;
  options.words(
      "JOB",
      [this](const std::string& word) -> Status {
        const Result<JobRange> range = parse_job_range(word);
        if (!range) {
          return range.error();
        }
        ranges_.push_back(*range);
        return ok();
      },
      which + ": 7, 100-120, or tasks of an array, 7.12 or 7.0-99", kJobWordsMax);
  options.text("--name", name_, "Select jobs by name; * matches any text, ? any character", "GLOB");
  options.text("-u,--user", user_, "Select jobs of this user", "USER");
  options.values(
      "--state", [this](const std::string& given) { return add_states(given); },
      "Select jobs in these states: " + join(agent::state_names()), "STATE[,STATE...]");
  options.text("--host", host_, "Select jobs on this host", "NAME");
  options.duration("--since", since_, "Select jobs submitted within this time, as 12h or 7d");
  options.flag(
      "-a,--all", all_,
      is_required ? "Select jobs of all users" : "Include jobs of all users and all ended jobs");
}

void JobChoice::describe_tasks(Options& options) {
  options.flag("-t,--tasks", are_tasks_,
               "List array tasks that have started or are next, one line each");
}

std::set<JobId> JobChoice::arrays() const {
  std::set<JobId> arrays;
  for (const JobRange& range : ranges_) {
    if (is_task(JobId(range.first))) {
      arrays.insert(array_of(JobId(range.first)));
    } else if (are_tasks_ && range.first == range.last) {
      arrays.insert(JobId(range.first));
    }
  }
  return arrays;
}

std::vector<JobRange> JobChoice::task_runs() const {
  std::vector<JobRange> runs;
  std::copy_if(ranges_.begin(), ranges_.end(), std::back_inserter(runs),
               [](const JobRange& range) { return range.is_task_run(); });
  return runs;
}

Status JobChoice::add_states(const std::string& given) {
  for (std::size_t start = 0; start <= given.size();) {
    const std::size_t end = std::min(given.find(',', start), given.size());
    const std::string name = given.substr(start, end - start);
    if (!agent::is_state(name)) {
      return Error{ErrorCode::kInvalid, "'" + name + "' is not a job state; the states are: " +
                                            join(agent::state_names())};
    }
    states_.insert(name);
    start = end + 1;
  }
  return ok();
}

bool JobChoice::has_filter() const {
  return !name_.empty() || !user_.empty() || !host_.empty() || !states_.empty() ||
         since_ > Duration::zero();
}

Status JobChoice::check() const {
  if (are_tasks_ && (ranges_.empty() || arrays().empty() ||
                     std::any_of(ranges_.begin(), ranges_.end(), [](const JobRange& range) {
                       return range.first < range.last && !range.is_task_run();
                     }))) {
    return Error{ErrorCode::kInvalid, "--tasks takes the numbers of whole arrays, not ranges"};
  }
  if (is_required_ && !has_ids() && !has_filter() && !all_) {
    return Error{ErrorCode::kInvalid,
                 "no job given: give numbers, or select with --name, --state, --host, --since, "
                 "--user or --all"};
  }
  return ok();
}

std::vector<JobId> JobChoice::single_ids() const {
  std::vector<JobId> ids;
  for (const JobRange& range : ranges_) {
    if (range.first == range.last) {
      ids.emplace_back(range.first);
    }
  }
  return ids;
}

std::optional<std::vector<JobId>> JobChoice::plain_ids() const {
  std::vector<JobId> ids = single_ids();
  return has_filter() || ids.empty() || ids.size() < ranges_.size() ? std::nullopt
                                                                    : std::optional(ids);
}

bool JobChoice::matches(const agent::JobSummary& job, const std::string& me) const {
  const bool is_named_alone =
      std::any_of(ranges_.begin(), ranges_.end(), [&](const JobRange& range) {
        return range.first == range.last && range.first == job.id.value();
      });
  return matches_but_for_user(job) && (is_of_all_users() || is_named_alone || job.user == me);
}

bool JobChoice::matches_but_for_user(const agent::JobSummary& job) const {
  const bool is_in_range = std::any_of(ranges_.begin(), ranges_.end(), [&](const JobRange& range) {
    const auto holds = [&](JobId id) {
      return range.first <= id.value() && id.value() <= range.last;
    };
    const bool is_whole = are_tasks_ && job.tasks != 0;
    return !is_whole && (holds(job.id) || (are_tasks_ && holds(array_of(job.id))));
  });
  const bool is_on_host =
      host_.empty() || std::find(job.hosts.begin(), job.hosts.end(), host_) != job.hosts.end();
  return (ranges_.empty() || is_in_range) && is_on_host &&
         (name_.empty() || matches_glob(name_, job.name)) && (user_.empty() || job.user == user_) &&
         (states_.empty() || states_.contains(job.state)) &&
         (since_ == Duration::zero() || job.age_ms <= static_cast<std::uint64_t>(to_ms(since_)));
}

}  // namespace muster::cli
