#pragma once
// The event queue of the simulator, in virtual time. Events at one instant happen in the order in
// which they were scheduled, so a run is a function of its seed.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "gossip/base/check.h"
#include "gossip/base/time.h"

namespace muster::sim {

/// A binary heap of small keys over a pool of payloads: payloads never move while they wait.
template <class Payload>
class EventQueue {
 public:
  void push(Instant when, Payload payload) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(pool_.size());
      pool_.push_back(std::move(payload));
    } else {
      slot = free_.back();
      free_.pop_back();
      pool_[slot] = std::move(payload);
    }
    heap_.push_back({when, next_serial_++, slot});
    std::push_heap(heap_.begin(), heap_.end(), Later());
  }

  bool empty() const { return heap_.empty(); }
  Instant next_time() const { return heap_.empty() ? kNever : heap_.front().when; }

  /// Takes the next event out and hands it to `use(when, payload)`, in place: it may push others.
  template <class Use>
  void pop(Use use) {
    CHECK(!heap_.empty());
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    const Key key = heap_.back();
    heap_.pop_back();
    use(key.when, pool_[key.slot]);
    free_.push_back(key.slot);
  }

 private:
  struct Key {
    Instant when;
    std::uint64_t serial;
    std::uint32_t slot;
  };
  struct Later {
    bool operator()(const Key& a, const Key& b) const {
      return a.when != b.when ? a.when > b.when : a.serial > b.serial;
    }
  };

  std::vector<Key> heap_;
  std::deque<Payload> pool_;  ///< Grows without moving what waits.
  std::vector<std::uint32_t> free_;
  std::uint64_t next_serial_ = 0;
};

}  // namespace muster::sim
