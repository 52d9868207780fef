#include "scheduler/seat/known_quorum.h"

#include <algorithm>

namespace muster::scheduler {

void KnownQuorum::begin_epoch(const ClusterEpoch& epoch) {
  epoch_ = epoch;
  heard_ = {};
  told_ = {};
}

void KnownQuorum::hear(const crdt::QuorumView& view) {
  if (view.epoch != epoch_) {
    return;
  }
  // Within a term the leader's own row alone speaks, the newest last: it may name other voters.
  const bool is_later =
      view.term == heard_.term && (heard_.leader.is_zero() || view.leader == heard_.leader);
  if (view.term > heard_.term || is_later) {
    heard_ = view;
  }
}

bool KnownQuorum::leaves_out(const Raft& raft) const {
  return !heard_.voters.empty() && heard_.term >= raft.term() &&
         std::find(heard_.voters.begin(), heard_.voters.end(), self_) == heard_.voters.end();
}

bool KnownQuorum::trusts(const Raft* raft) const {
  if (raft == nullptr) {
    return false;
  }
  const bool is_led = !raft->leader().is_zero() && raft->term() >= heard_.term;
  return is_led || (raft->is_voter() && !leaves_out(*raft));
}

crdt::QuorumView KnownQuorum::view(const Raft* raft) const {
  if (!trusts(raft) || raft->voters().empty()) {
    return heard_;
  }
  crdt::QuorumView view;
  view.term = raft->term();
  view.leader = raft->leader();
  view.voters = raft->voters();
  view.epoch = epoch_;
  view.users = heard_.users;
  return view;
}

std::optional<crdt::QuorumView> KnownQuorum::take_news(const Raft& leading, std::uint64_t users) {
  crdt::QuorumView now = view(&leading);
  now.users = users;
  if (now == told_) {
    return std::nullopt;
  }
  told_ = now;
  return now;
}

}  // namespace muster::scheduler
