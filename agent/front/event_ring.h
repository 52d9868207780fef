#pragma once
// The last events of this node, for `muster events`. Bounded; the oldest go first.

#include <cstdint>
#include <deque>

#include "agent/api/events.h"
#include "gossip/base/event.h"
#include "gossip/base/time.h"

namespace muster::agent {

class EventRing {
 public:
  static constexpr std::size_t kEventsMax = 2000;
  static constexpr std::size_t kPageMax = 500;

  void add(Instant now, const Event& event);
  EventsPage page(Instant now, std::uint64_t after) const;

 private:
  struct Kept {
    std::uint64_t sequence;
    Instant when;
    Event event;
  };
  std::deque<Kept> kept_;
  std::uint64_t next_sequence_ = 1;
};

}  // namespace muster::agent
