#pragma once
// The output of an array's tasks, each line behind the number of its task.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/api/jobs.h"
#include "cli/kit/job_choice.h"
#include "cli/kit/rank_output.h"
#include "cli/kit/session.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"

namespace muster::cli {

/// Tasks that one command prints; of the others the next run is named, as 7.1000-1999.
inline constexpr std::size_t kTasksPrinted = 1000;
/// Tasks that are followed at once: each is asked each turn.
inline constexpr std::size_t kTasksFollowed = 64;

struct ArrayLogsWish {
  JobRange tasks;  ///< Of one array.
  bool follow = false;
  /// The attempt to be read after that number; null = no such attempt.
  std::function<const agent::AttemptInfo*(const agent::JobDetail&, std::uint64_t shown)> attempt_of;
  /// The ranks that are read of it.
  std::function<std::vector<RankOutput>(const agent::JobDetail&, const agent::AttemptInfo&)>
      outputs_of;
};

class ArrayLogs {
 public:
  explicit ArrayLogs(ArrayLogsWish wish) : wish_(std::move(wish)) {}

  /// Without follow: the tasks that began, one after the other. With it: all of them, those at work
  /// side by side, until the last of them ended. The exit code: 0, or that of the first task whose
  /// output is incomplete.
  int run(Session& session);

 private:
  struct Task {
    JobId id;
    std::uint64_t attempt = 0;  ///< The one that is read; 0 = none yet.
    std::vector<RankOutput> outputs{};
    Instant look_at{};
    bool is_over = false;
  };

  bool look_for_tasks(Session& session);
  bool has_all_begun() const;
  void turn(Session& session, Task& task);
  void read_on(Session& session, Task& task, bool& got_bytes);
  void look_at_attempts(Session& session, Task& task);
  int print_one_by_one(Session& session);
  int follow(Session& session);
  int fail_without_tasks(Session& session) const;
  std::string tasks_text() const;

  ArrayLogsWish wish_;
  std::deque<JobId> waiting_;  ///< Have begun and are not read yet.
  std::set<JobId> known_;      ///< Waiting, read or over.
  std::vector<Task> open_;
  agent::JobSummary array_;
  std::size_t left_out_ = 0;  ///< Beyond kTasksPrinted.
  JobId first_left_out_;
  bool got_bytes_ = false;
  int exit_code_ = 0;
};

}  // namespace muster::cli
