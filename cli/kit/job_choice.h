#pragma once
// The choice of jobs: the ids, ranges and filters that every verb about jobs takes alike.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/api/jobs.h"
#include "cli/kit/options.h"
#include "cli/kit/session.h"

namespace muster::cli {

/// Ids and ranges of one command line.
inline constexpr std::size_t kJobWordsMax = 1000;
/// Jobs that a range names.
inline constexpr std::uint64_t kJobRangeMax = 100'000;

struct JobRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  ///< >= first

  /// Of tasks of one array.
  bool is_task_run() const { return first < last && is_task(JobId(first)); }
};

/// "7", "100-120", "7.12" or "7.0-99"; kInvalid says what was read.
Result<JobRange> parse_job_range(const std::string& text);
/// "7" or "7.12".
Result<JobId> parse_job(const std::string& text);
/// For Options::words().
Status accept_job(const std::string& text, JobId& job);
/// `*` is any text, `?` any character; the rest stands for itself.
bool matches_glob(std::string_view pattern, std::string_view text);

/// Every job that the quorum keeps, by id, each array as one job; behind them the tasks of these
/// arrays, and on demand of all that have some at work. nullopt if it failed; the failure was
/// printed, as Session::read() does.
std::optional<agent::JobList> read_jobs(Session& session, std::set<JobId> arrays,
                                        bool with_running_tasks = false);
/// The tasks of an array that are jobs by now, by number. nullopt after a failure that it printed.
std::optional<agent::JobList> read_tasks(Session& session, JobId array);

class JobChoice {
 public:
  /// `is_required`: ids or a filter must be given. `which` says what the ids are for.
  void describe(Options& options, const std::string& which, bool is_required);
  /// Numbers of arrays may mean their tasks.
  void describe_tasks(Options& options);
  /// One line when nothing was chosen though something must be.
  Status check() const;

  bool has_all() const { return all_; }
  bool has_ids() const { return !ranges_.empty(); }
  bool has_filter() const;
  /// By host: it is tasks that are on one, not arrays.
  bool is_about_tasks() const { return !host_.empty(); }
  /// Jobs of other people are meant too: --all, --user, or jobs that are named by their id alone.
  bool is_of_all_users() const { return all_ || !user_.empty(); }
  /// Arrays of which tasks are named.
  std::set<JobId> arrays() const;
  /// Runs of tasks that are named.
  std::vector<JobRange> task_runs() const;
  bool has_task_runs_alone() const {
    return !ranges_.empty() && task_runs().size() == ranges_.size();
  }
  /// Only ids without ranges: nothing has to be looked up.
  std::optional<std::vector<JobId>> plain_ids() const;

  /// The jobs that are named by their id alone, ranges beside them or not.
  std::vector<JobId> single_ids() const;

  /// By ids, filters and user; `me` asks.
  bool matches(const agent::JobSummary& job, const std::string& me) const;
  /// The same, but for the user.
  bool matches_but_for_user(const agent::JobSummary& job) const;
  const std::string& user() const { return user_; }

 private:
  Status add_states(const std::string& given);

  std::vector<JobRange> ranges_;
  std::string name_;
  std::string user_;
  std::string host_;
  std::set<std::string> states_;
  Duration since_{0};
  bool all_ = false;
  bool are_tasks_ = false;
  bool is_required_ = false;
};

}  // namespace muster::cli
