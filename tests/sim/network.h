#pragma once
// The simulated network: links with TCP's manners (order, resets, refusals, silence), and the
// faults that break them (cuts one-way or full, loss, duplication, reordering, very late messages).
// It decides when and whether; the World delivers.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "gossip/base/time.h"

namespace muster::sim {

/// Chances are per message, in millionths.
struct NetworkFaults {
  Duration delay_min = std::chrono::microseconds(100);
  Duration delay_max = std::chrono::microseconds(500);
  std::uint32_t loss = 0;
  std::uint32_t duplicate = 0;
  std::uint32_t late = 0;  ///< Arrives up to `late_max` late, overtaken by others.
  Duration late_max = std::chrono::milliseconds(400);
};

/// Counters of what happened, printed at the end of a run.
struct NetworkStats {
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t bytes = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t late = 0;
  std::uint64_t cut = 0;
};

class Network {
 public:
  explicit Network(Rng rng) : rng_(rng) {}

  NetworkFaults faults;
  NetworkStats stats;
  /// Hears every message as it is sent, lost ones included. Only reads: a run is the same without.
  std::function<void(std::uint32_t from, std::uint32_t to, const std::string& bytes)> tap;

  void cut(std::uint32_t from, std::uint32_t to) { cuts_.insert({from, to}); }
  void heal(std::uint32_t from, std::uint32_t to) { cuts_.erase({from, to}); }
  void heal_all() { cuts_.clear(); }
  bool is_cut(std::uint32_t from, std::uint32_t to) const {
    return !cuts_.empty() && cuts_.contains({from, to});
  }
  /// Of what is sent from one to the other so many millionths are lost, beside `faults.loss`.
  void lose(std::uint32_t from, std::uint32_t to, std::uint32_t millionths);
  /// All that is sent from one to the other takes this much longer, cuts that come later
  /// notwithstanding: it is under way. 0 = no longer.
  void detour(std::uint32_t from, std::uint32_t to, Duration more) { detours_[{from, to}] = more; }
  bool has_cuts() const { return !cuts_.empty(); }

  /// When the copies of one message arrive, counted from its send.
  struct Arrivals {
    std::array<Duration, 2> delays{};
    std::size_t count = 0;
  };
  Arrivals arrivals(std::uint32_t from, std::uint32_t to, const std::string& bytes);
  /// For links that send again what is lost: whether one packet gets through, and its time.
  bool carries(std::uint32_t from, std::uint32_t to);
  Duration delay(std::uint32_t from, std::uint32_t to);
  Duration one_way() { return rng_.between(faults.delay_min, faults.delay_max); }

 private:
  Rng rng_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> cuts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Duration> detours_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> losses_;
};

}  // namespace muster::sim
