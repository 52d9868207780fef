#include "agent/roll/seed_keys.h"

namespace muster::agent {

void SeedKeys::on_heard(const gossip::Endpoint& link) {
  if (const auto turn = turns_.find(link); turn != turns_.end()) {
    turn->second.is_heard = true;
  }
}

bool SeedKeys::has_heard(const gossip::Endpoint& seed) const {
  const auto turn = turns_.find(seed);
  return turn != turns_.end() && turn->second.is_heard;
}

void SeedKeys::on_link_down(const gossip::LinkDown& lost) {
  if (const auto turn = turns_.find(lost.peer); turn != turns_.end()) {
    turn->second.is_unproven = lost.loss == gossip::LinkLoss::kUnproven;
    turn->second.is_heard &= lost.loss == gossip::LinkLoss::kReset;
  }
}

/// Zero if the roll has no other member than the owner.
HostId SeedKeys::next_host(Turn& turn, HostId owner, const Roll& roll) {
  constexpr int kRounds = 3;  // The rest of one kind, all of the other, then the first again.
  for (int round = 0; round < kRounds; ++round) {
    turn.behind = roll.next_member(turn.behind, [&](HostId host) {
      return host != owner && roll.may_vote(host) == turn.voters;
    });
    if (!turn.behind.is_zero()) {
      return turn.behind;
    }
    turn.voters = !turn.voters;
  }
  return HostId();
}

void SeedKeys::choose(const gossip::Endpoint& seed, HostId owner, const Roll& roll,
                      Outbox& outbox) {
  const auto [place, is_first] = turns_.try_emplace(seed);
  Turn& turn = place->second;
  if (is_first) {  // A ticket may have told the transport the key there.
    turn.host = owner;
    turn.key = roll.link_key(owner);
    return;
  }
  if (!turn.is_unproven) {
    const std::string key = roll.link_key(turn.host);
    if (key == turn.key) {
      return;
    }
    turn.key = key;  // The host changed its key.
    if (!key.empty()) {
      outbox.tell(gossip::Expect{seed, key});
      return;
    }
  }
  turn.is_unproven = false;
  const bool is_owners_turn = !owner.is_zero() && turn.host != owner;
  turn.host = is_owners_turn ? owner : next_host(turn, owner, roll);
  turn.key = turn.host.is_zero() ? "" : roll.link_key(turn.host);
  if (!turn.key.empty()) {
    outbox.tell(gossip::Expect{seed, turn.key});
  }
}

}  // namespace muster::agent
