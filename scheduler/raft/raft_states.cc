// The members whose state differs from that of a majority: see state_hash.h.

#include "scheduler/raft/raft.h"

#include <utility>

namespace muster::scheduler {

void Raft::handle(Instant, Hashed input) {
  has_new_hash_ = hashes_.add(input.state) || has_new_hash_;
}

bool Raft::is_told_to_be_other(const StateHash& agreed) const {
  const StateHash own = hashes_.at(agreed.index);
  return agreed.form != 0 && own.form == agreed.form && own.hash != agreed.hash;
}

void Raft::compare_states() {
  const bool is_own_new = std::exchange(has_new_hash_, false);
  if (!replication_->take_hash_news() && !is_own_new) {
    return;
  }
  const HashFindings findings = replication_->compare_states(hashes_, output_.events);
  if (findings.split.has_value() && *findings.split > split_told_) {
    split_told_ = *findings.split;
    emit(Severity::kAlarm, "states_differ",
         {{"index", std::to_string(split_told_.value())},
          {"advice", "no majority holds the same state, so it is not known which one is right"}});
  }
  for (const HashFindings::Diverged& each : findings.diverged) {
    if (each.host == self_) {
      // Its decisions from here on would be wrong. A voter that agrees with the others leads at
      // once.
      if (const HostId heir = replication_->best_successor(); !heir.is_zero()) {
        send(heir, TimeoutNow{hard_state_.term});
      }
      diverge(each.agreed);
      return;
    }
  }
}

void Raft::diverge(const StateHash& agreed) {
  emit(Severity::kAlarm, "state_diverged",
       {{"index", std::to_string(agreed.index.value())},
        {"role", std::string(text_of(role_))},
        {"advice", "raft/ is moved aside; this host starts again with an empty log"}});
  fall_silent();
  output_.gives_seat_up = "its state at entry " + std::to_string(agreed.index.value()) +
                          " differs from that of most voters";
}

}  // namespace muster::scheduler
