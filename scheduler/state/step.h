#pragma once
// One entry being applied: the books it changes, where it stands in the log, and what came of it so
// far. Lives on the stack of State::apply() alone; every rule that changes the books takes it.

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
                         ///< An operator's word: the job it is about.
  std::string told;      ///< For whom asked: what else followed from the entry; "" = nothing.
  std::string rejected;  ///< Why the entry changed nothing; "" = it counted.
  ErrorCode rejected_as = ErrorCode::kInvalid;
  std::vector<Token> touched;  ///< Attempts whose state or members changed.
  RollChanges roll;
  bool usual_changed = false;  ///< State::usual() is another than before.
  // Some of them perhaps twice.
  std::vector<HostId> hosts_changed;     ///< Hosts whose record changed.
  std::vector<HostId> holdings_changed;  ///< Hosts of which more or less is held than before.
  std::vector<JobId> jobs_moved;         ///< Into or out of the queue, or within it; perhaps twice.
  bool capacity_changed = false;         ///< Some GPUs, hosts or queue places changed: place again.
};

struct Step {
  Books& books;
  LogIndex index;
  std::int64_t unix_ms = 0;  ///< Of the entry: LoggedEntry.
  ApplyResult result{};
  std::vector<JobId> arrays_moved{};  ///< Of which a task moved, perhaps twice.
  std::string refusal{};              ///< Of an Abort: what the host said, for people.

  void reject(ErrorCode code, std::string why) {
    result.rejected = std::move(why);
    result.rejected_as = code;
  }
};

}  // namespace muster::scheduler
