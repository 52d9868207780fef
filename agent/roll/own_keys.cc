#include "agent/roll/own_keys.h"

#include <algorithm>
#include <utility>

#include "agent/step/reachable.h"
#include "agent/step/self_description.h"
#include "crdt/rows/host_state.h"

namespace muster::agent {
namespace {

/// Neighbours, observers and voters hear of the next link key before it is used.
Audience audience_of(HostId self, const Circle& circle) {
  Audience audience;
  audience.voters = circle.voters;
  audience.peers = {circle.neighbours.begin(), circle.neighbours.end()};
  audience.peers.insert(audience.voters.begin(), audience.voters.end());
  if (const crdt::Field* watched = circle.store.field(self, crdt::FieldId::kObservers)) {
    const auto observers = crdt::decode_observers(watched->bytes).value_or(std::vector<HostId>());
    audience.peers.insert(observers.begin(), observers.end());
  }
  std::erase_if(audience.peers,
                [&](HostId host) { return !is_reachable(circle.membership, host); });
  return audience;
}

}  // namespace

Instant OwnKeys::next_deadline(bool votes) const {
  return std::min(rotation_.next_deadline(),
                  votes && rotation_.was_changed() ? absent_.next_deadline() : kNever);
}

std::vector<crdt::RowsMessage> OwnKeys::tick(const Circle& circle, Outbox& outbox) {
  std::vector<crdt::RowsMessage> messages;
  if (rotation_.next_deadline() <= circle.now) {
    for (const HostId host : rotation_.tick(circle.now, audience_of(self_, circle), outbox)) {
      messages.push_back({host, own_row_question(self_)});
    }
  }
  if (circle.votes && rotation_.was_changed() && absent_.next_deadline() <= circle.now) {
    if (const HostId host = absent_.next(circle.now, circle.membership); !host.is_zero()) {
      messages.push_back({host, circle.store.introduction()});
    }
  }
  return messages;
}

}  // namespace muster::agent
