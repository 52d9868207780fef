#pragma once
// Jobs as clients name them: "7", "7.12", and the ranges "100-120" and "7.0-99"; and the choice of
// jobs by filters, by the rules of `muster jobs`. Pure.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api/jobs.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// Jobs that one range names.
inline constexpr std::uint64_t kJobRangeMax = 100'000;
/// Ids and ranges of one request.
inline constexpr std::size_t kJobRangesMax = 1000;

struct JobRange {
  JobId first;
  JobId last;  ///< Not below first.
  bool is_one() const { return first == last; }
  bool holds(JobId job) const { return first <= job && job <= last; }
};

/// kInvalid: not a whole number of digits alone, or too large.
Result<std::uint64_t> parse_count(std::string_view text);
/// kInvalid says what was read.
Result<JobRange> parse_job_range(std::string_view text);
Result<JobId> parse_job_id(std::string_view text);
/// "ok:7", "any:8.3"; `items` are numbered in the errors from 1.
Result<std::vector<scheduler::Dependency>> parse_after(const std::vector<std::string>& items);
/// `*` is any text, `?` any character; the rest stands for itself.
bool matches_glob(std::string_view pattern, std::string_view text);

/// The jobs that a client asks for.
struct JobsWish {
  std::vector<JobRange> ranges{};
  std::string name{};  ///< A pattern.
  std::string user{};
  std::string host{};
  std::set<std::string> states{};
  std::uint64_t since_ms = 0;  ///< Submitted within this time; 0 = at any time.
  bool is_all = false;         ///< Of all users, and all ended ones.
  bool are_tasks = false;      ///< Numbers of arrays mean their tasks.
  std::string sort{};          ///< "" = by number.
  bool is_backwards = false;
  std::uint64_t limit = 0;  ///< 0 = as many as there are, but for older ended ones.

  bool has_filter() const;
  bool is_of_all_users() const { return is_all || !user.empty(); }
  /// Arrays of which tasks are asked for.
  std::set<JobId> arrays() const;
  /// The jobs that are named one by one.
  std::vector<JobId> single_ids() const;
  bool matches_but_for_user(const JobSummary& job) const;
  /// kInvalid: these wishes do not go together.
  Status check() const;
};

/// Keeps what is to be listed, in its order. `me`: who asks. The number of those left out for their
/// age, as others' or beyond the limit.
std::size_t choose_jobs(const JobsWish& wish, const std::string& me, std::vector<JobSummary>& jobs);
/// The names that JobsWish::sort may have.
std::vector<std::string_view> sort_names();
/// Jobs that are named one by one and are not among `jobs`.
std::vector<JobId> missing_among(const JobsWish& wish, const std::vector<JobSummary>& jobs);
/// For people; precondition: not empty.
std::string missing_text(const std::vector<JobId>& missing);

}  // namespace muster::agent
