#include "scheduler/seat/seat_records.h"

#include "scheduler/raft/codec.h"
#include "scheduler/raft/first_quorum_messages.h"
#include "scheduler/raft/log.h"

namespace muster::scheduler {

Status check_seat(const crdt::Records& raft_records, HostId self) {
  const auto log = recover_log(raft_records);
  if (!log) {
    return log.error();
  }
  if (const auto why = recover_given_up(raft_records)) {
    return Error{ErrorCode::kCorrupt, *why};
  }
  // A founder's seat is among the founders of its log, even if it was removed later.
  const bool is_founder = log->seat == SeatId();
  const Configuration& base = log->snapshot.configuration;
  if (is_founder && log->snapshot.at.index == LogIndex() && !base.voters.empty() &&
      base.voter(self) == nullptr) {
    return Error{ErrorCode::kConflict,
                 "host " + self.short_hex() + " is not one of its voters (was id/ lost?)"};
  }
  if (const auto quorum = recover_quorum(raft_records); !quorum) {
    return quorum.error();
  }
  return ok();
}

bool is_bare_seat(const crdt::Records& raft_records) {
  const auto log = recover_log(raft_records);
  const auto quorum = recover_quorum(raft_records);
  return log.has_value() && log->snapshot.configuration.voters.empty() && log->entries.empty() &&
         log->hard_state.term == Term() && quorum.has_value() && !quorum->formed.has_value() &&
         !quorum->promise.has_value();
}

bool is_voting_seat(const crdt::Records& raft_records, HostId self) {
  RecoveredLog log = recover_log(raft_records).value();
  const Seat own{self, log.seat};
  const bool voted = log.snapshot.configuration.has_voter(own);
  return voted || RaftLog(log).configuration().has_voter(own);
}

}  // namespace muster::scheduler
