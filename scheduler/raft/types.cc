#include "scheduler/raft/types.h"

namespace muster::scheduler {

Status RaftConfig::validate() const {
  if (heartbeat <= Duration::zero() || election_timeout_min < 3 * heartbeat) {
    return Error{ErrorCode::kInvalid, "election_timeout_min must be at least 3 heartbeats"};
  }
  if (election_timeout_max <= election_timeout_min) {
    return Error{ErrorCode::kInvalid, "election_timeout_max must be above election_timeout_min"};
  }
  if (vote_retry_min <= Duration::zero() || vote_retry_max <= vote_retry_min) {
    return Error{ErrorCode::kInvalid,
                 "vote_retry_max must be above vote_retry_min, and that above 0"};
  }
  if (check_quorum < election_timeout_min || retransmit < heartbeat) {
    return Error{ErrorCode::kInvalid,
                 "check_quorum must not be below election_timeout_min, nor retransmit below "
                 "heartbeat"};
  }
  if (disk_patience <= Duration::zero()) {
    return Error{ErrorCode::kInvalid, "disk_patience must be positive"};
  }
  if (window == 0 || append_bytes_max == 0 || append_entries_max == 0) {
    return Error{ErrorCode::kInvalid, "window and append limits must be positive"};
  }
  return ok();
}

}  // namespace muster::scheduler
