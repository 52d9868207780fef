#include "agent/api/rest/job_ids.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "agent/api/job_state.h"

namespace muster::agent {
namespace {

/// Ended jobs that are listed if the client does not ask for all.
constexpr std::size_t kEndedListed = 20;

Error unfit_job(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

std::string in_quotes(std::string_view text) {
  return "'" + std::string(text) + "'";
}

/// The tasks of "7.0-99", whose dot is at `dot`.
Result<JobRange> parse_task_range(std::string_view text, std::size_t dot) {
  const std::size_t dash = text.find('-', dot);
  const auto array = parse_count(text.substr(0, dot));
  const auto first = parse_count(text.substr(dot + 1, dash - dot - 1));
  const auto last = dash == std::string_view::npos ? first : parse_count(text.substr(dash + 1));
  if (!array || !first || !last || *array == 0 || JobId(*array) > kLastArray ||
      *first > kTaskIndexMax || *last > kTaskIndexMax) {
    return unfit_job(in_quotes(text) + " is not a task: write 7.12, or 7.0-99 for a range");
  }
  if (*last < *first) {
    return unfit_job(in_quotes(text) + " ends before it begins");
  }
  const auto task = [&](std::uint64_t index) {
    return task_id(JobId(*array), static_cast<std::uint32_t>(index));
  };
  return JobRange{task(*first), task(*last)};
}

Result<scheduler::Dependency> parse_after_item(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto ending = scheduler::ending_of(text.substr(0, colon));
  if (colon == std::string::npos || !ending.has_value()) {
    return unfit_job("write ok:JOB, fail:JOB or any:JOB");
  }
  const Result<JobId> job = parse_job_id(text.substr(colon + 1));
  if (!job) {
    return job.error();
  }
  return scheduler::Dependency{*ending, *job};
}

bool is_at_work(const JobSummary& job) {
  return job.state == "running" || job.state == "scheduled" || job.state == "stopping";
}

/// A name for JobsWish::sort, and what is compared: a number, or a text.
struct SortKey {
  std::string_view name;
  std::int64_t (*number)(const JobSummary& job) = nullptr;
  std::string (*text)(const JobSummary& job) = nullptr;
};

template <class T>
std::int64_t signed_of(T value) {
  return static_cast<std::int64_t>(value);
}

constexpr SortKey kSortKeys[] = {
    {"id", [](const JobSummary& j) { return signed_of(j.id.value()); }},
    {"gpus", [](const JobSummary& j) { return signed_of(j.gpus); }},
    {"age", [](const JobSummary& j) { return signed_of(j.age_ms); }},
    {"time", [](const JobSummary& j) { return signed_of(j.run_ms); }},
    {"attempt", [](const JobSummary& j) { return signed_of(j.attempt); }},
    {"priority", [](const JobSummary& j) { return signed_of(j.priority); }},
    {"submit", [](const JobSummary& j) { return signed_of(j.submit_unix_ms); }},
    {"start", [](const JobSummary& j) { return signed_of(j.start_unix_ms); }},
    {"end", [](const JobSummary& j) { return signed_of(j.end_unix_ms); }},
    {"exit", [](const JobSummary& j) { return signed_of(j.exit_code); }},
    {"gpuhours", [](const JobSummary& j) { return signed_of(j.gpu_ms); }},
    {"nhosts", [](const JobSummary& j) { return signed_of(j.hosts.size()); }},
    {"name", nullptr, [](const JobSummary& j) { return j.name; }},
    {"user", nullptr, [](const JobSummary& j) { return j.user; }},
    {"state", nullptr, [](const JobSummary& j) { return j.state + (j.is_doubtful ? "?" : ""); }},
    {"cause", nullptr, [](const JobSummary& j) { return j.cause; }},
    {"type", nullptr,
     [](const JobSummary& j) { return j.gpu_type.empty() ? std::string("any") : j.gpu_type; }},
    {"queue", nullptr,
     [](const JobSummary& j) { return j.queue.empty() ? std::string("-") : j.queue; }},
    {"tier", nullptr,
     [](const JobSummary& j) { return j.tier.empty() ? std::string("-") : j.tier; }},
};

const SortKey* sort_key(std::string_view name) {
  const auto* found = std::find_if(std::begin(kSortKeys), std::end(kSortKeys),
                                   [&](const SortKey& key) { return key.name == name; });
  return found == std::end(kSortKeys) ? nullptr : found;
}

void sort_jobs(const SortKey& key, bool is_backwards, std::vector<JobSummary>& jobs) {
  const auto is_before = [&key](const JobSummary& a, const JobSummary& b) {
    return key.number != nullptr ? key.number(a) < key.number(b) : key.text(a) < key.text(b);
  };
  std::stable_sort(jobs.begin(), jobs.end(), [&](const JobSummary& a, const JobSummary& b) {
    return is_backwards ? is_before(b, a) : is_before(a, b);
  });
}

/// The number of ended jobs that are left out: the oldest ones.
std::size_t leave_out_ended(const JobsWish& wish, std::vector<JobSummary>& jobs) {
  const auto ended = static_cast<std::size_t>(std::count_if(
      jobs.begin(), jobs.end(), [](const JobSummary& job) { return is_ended(job.state); }));
  const bool is_whole = wish.is_all || !wish.ranges.empty() || wish.has_filter();
  // In another order the first may be the oldest.
  const std::size_t listed = wish.limit == 0     ? kEndedListed
                             : wish.sort.empty() ? wish.limit
                                                 : ended;
  const std::size_t left_out = is_whole || ended <= listed ? 0 : ended - listed;
  std::size_t surplus = left_out;
  std::erase_if(jobs, [&surplus](const JobSummary& job) {
    const bool is_hidden = surplus > 0 && is_ended(job.state);
    surplus -= is_hidden ? 1 : 0;
    return is_hidden;
  });
  return left_out;
}

}  // namespace

Result<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  const bool is_digits = !text.empty() && at == end;
  if (error == std::errc() && is_digits) {
    return number;
  }
  const bool is_large = error == std::errc::result_out_of_range && is_digits;
  return unfit_job(in_quotes(text) +
                   (is_large ? " is too large a number" : " is not a whole number"));
}

Result<JobRange> parse_job_range(std::string_view text) {
  if (const std::size_t dot = text.find('.'); dot != std::string_view::npos) {
    return parse_task_range(text, dot);
  }
  const std::size_t dash = text.find('-');
  const auto first = parse_count(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_count(text.substr(dash + 1));
  if (!first || !last || *first == 0) {
    return unfit_job(in_quotes(text) + " is not a job: write 100, or 100-120 for a range");
  }
  if (*last < *first) {
    return unfit_job(in_quotes(text) + " ends before it begins");
  }
  if (*last - *first >= kJobRangeMax) {
    return unfit_job(in_quotes(text) + " names more than " + std::to_string(kJobRangeMax) +
                     " jobs");
  }
  return JobRange{JobId(*first), JobId(*last)};
}

Result<JobId> parse_job_id(std::string_view text) {
  const Result<JobRange> range = parse_job_range(text);
  if (!range) {
    return range.error();
  }
  return range->is_one() ? Result<JobId>(range->first)
                         : unfit_job(in_quotes(text) + " is more than one job");
}

Result<std::vector<scheduler::Dependency>> parse_after(const std::vector<std::string>& items) {
  std::vector<scheduler::Dependency> after;
  for (const std::string& text : items) {
    const std::string place = "item " + std::to_string(after.size() + 1) + " `" + text + "`: ";
    if (after.size() == scheduler::kDependenciesMax) {
      return unfit_job(place + "at most " + std::to_string(scheduler::kDependenciesMax) +
                       " jobs can be waited for");
    }
    const auto item = parse_after_item(text);
    if (!item) {
      return unfit_job(place + item.error().text);
    }
    after.push_back(*item);
  }
  return after;
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t in = 0;
  // The last star, and the text behind which it goes on if the rest does not fit.
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

bool JobsWish::has_filter() const {
  return !name.empty() || !user.empty() || !host.empty() || !states.empty() || since_ms > 0;
}

std::set<JobId> JobsWish::arrays() const {
  std::set<JobId> found;
  for (const JobRange& range : ranges) {
    if (is_task(range.first) || (are_tasks && range.is_one())) {
      found.insert(array_of(range.first));
    }
  }
  return found;
}

std::vector<JobId> JobsWish::single_ids() const {
  std::vector<JobId> ids;
  for (const JobRange& range : ranges) {
    if (range.is_one()) {
      ids.push_back(range.first);
    }
  }
  return ids;
}

bool JobsWish::matches_but_for_user(const JobSummary& job) const {
  const bool is_whole_array = are_tasks && job.tasks != 0;
  const bool is_in_range = std::any_of(ranges.begin(), ranges.end(), [&](const JobRange& range) {
    return !is_whole_array && (range.holds(job.id) || (are_tasks && range.holds(array_of(job.id))));
  });
  const bool is_on_host =
      host.empty() || std::find(job.hosts.begin(), job.hosts.end(), host) != job.hosts.end();
  return (ranges.empty() || is_in_range) && is_on_host &&
         (name.empty() || matches_glob(name, job.name)) && (user.empty() || job.user == user) &&
         (states.empty() || states.contains(job.state)) &&
         (since_ms == 0 || job.age_ms <= since_ms);
}

Status JobsWish::check() const {
  const bool has_runs = std::any_of(ranges.begin(), ranges.end(), [](const JobRange& range) {
    return !range.is_one() && !is_task(range.first);
  });
  if (are_tasks && (arrays().empty() || has_runs)) {
    return unfit_job("'tasks' takes the numbers of whole arrays in 'job', not ranges");
  }
  if (!sort.empty() && sort_key(sort) == nullptr) {
    std::string names;
    for (const std::string_view each : sort_names()) {
      names.append(names.empty() ? "" : ", ").append(each);
    }
    return unfit_job("'sort': " + in_quotes(sort) + " is not a column; the columns are: " + names);
  }
  return ok();
}

std::size_t choose_jobs(const JobsWish& wish, const std::string& me,
                        std::vector<JobSummary>& jobs) {
  std::size_t left_out = 0;
  std::erase_if(jobs, [&](const JobSummary& job) { return !wish.matches_but_for_user(job); });
  if (!wish.is_of_all_users() && wish.ranges.empty()) {
    left_out += std::erase_if(
        jobs, [&](const JobSummary& job) { return job.user != me && !is_at_work(job); });
  }
  left_out += leave_out_ended(wish, jobs);
  if (const SortKey* key = sort_key(wish.sort); key != nullptr) {
    sort_jobs(*key, wish.is_backwards, jobs);
  }
  if (wish.limit != 0 && jobs.size() > wish.limit) {
    const std::size_t surplus = jobs.size() - wish.limit;
    const auto cut = static_cast<std::ptrdiff_t>(surplus);
    left_out += surplus;
    // The newest in the order of ids are wanted; of another order its first.
    wish.sort.empty() ? jobs.erase(jobs.begin(), jobs.begin() + cut)
                      : jobs.erase(jobs.end() - cut, jobs.end());
  }
  return left_out;
}

std::vector<std::string_view> sort_names() {
  std::vector<std::string_view> names;
  for (const SortKey& key : kSortKeys) {
    names.push_back(key.name);
  }
  return names;
}

std::vector<JobId> missing_among(const JobsWish& wish, const std::vector<JobSummary>& jobs) {
  std::vector<JobId> missing = wish.single_ids();
  std::erase_if(missing, [&](JobId id) {
    return std::any_of(jobs.begin(), jobs.end(),
                       [&](const JobSummary& job) { return job.id == id; });
  });
  return missing;
}

std::string missing_text(const std::vector<JobId>& missing) {
  std::string numbers;
  for (const JobId id : missing) {
    numbers.append(numbers.empty() ? "" : ", ").append(text_of(id));
  }
  return "there is no job " + numbers +
         (is_task(missing.front()) ? " yet, or any more: `muster show " +
                                         text_of(array_of(missing.front())) + "` counts the tasks"
                                   : "; `muster jobs --all` lists them");
}

}  // namespace muster::agent
