#pragma once
// The application of one entry: the books that it changes, its place in the log, and its result so
// far. Lives on the stack of State::apply(); every rule that changes the books takes it.

#include <string>
#include <utility>
#include <vector>

#include "gossip/base/event.h"
#include "gossip/base/result.h"
#include "scheduler/state/books.h"
#include "scheduler/state/roll_changes.h"

namespace muster::scheduler {

struct ApplyResult {
  std::vector<Event> events;
  JobId job;             ///< Submit: the job given, or the earlier one of the same key.
                         ///< An operator's order: the job that it is about.
  std::string told;      ///< Further effects, for the person that asked; "" = there are no more.
  std::string rejected;  ///< Why the entry changed nothing; "" = it was accepted.
  ErrorCode rejected_as = ErrorCode::kInvalid;
  std::vector<Token> touched;  ///< Attempts whose state or members changed.
  RollChanges roll;
  bool usual_changed = false;    ///< State::usual() changed.
  bool queues_changed = false;   ///< The tree of queues is another one: all shares changed.
  bool credits_changed = false;  ///< Means and credits of shares changed.
  // An element may stand in each of these lists twice.
  std::vector<HostId> hosts_changed;         ///< Hosts whose record changed.
  std::vector<HostId> holdings_changed;      ///< Hosts of which more or less is held than before.
  std::vector<AttemptShare> shares_changed;  ///< Shares of which more or less is held than before.
  std::vector<JobId> jobs_moved;             ///< Jobs that moved into, out of or within the queue.
  bool capacity_changed = false;  ///< Some GPUs, hosts or queue places changed: place again.
};

struct Step {
  Books& books;
  LogIndex index;
  std::int64_t unix_ms = 0;  ///< Of the entry: LoggedEntry.
  ApplyResult result{};
  std::vector<JobId> arrays_moved{};  ///< Arrays of which a task moved, perhaps twice.
  /// Jobs and arrays that ended since settle_waits() looked, and how: some may be forgotten.
  std::vector<std::pair<JobId, JobState>> ended{};
  std::string refusal{};  ///< Of an Abort: the reason of the host, for people.

  void reject(ErrorCode code, std::string why) {
    result.rejected = std::move(why);
    result.rejected_as = code;
  }
};

}  // namespace muster::scheduler
