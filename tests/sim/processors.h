#pragma once
// Processors: cores that the hosts of a World share, and what an agent's work costs there, by a
// price list, in virtual time. An agent has three threads: its reflex, its loop, and the one that
// looks at rows' signatures; what its transport's threads do is in the prices of words and
// handshakes. A core is fair as Linux is: its next slice is for the thread that had least of it,
// and one that slept is not paid for the time that it slept.
//
// Without cores work costs nothing, and a World asks nothing of this.

#include <cstdint>
#include <optional>
#include <vector>

#include "gossip/base/time.h"

namespace muster::sim {

/// CPU time of one core, as `bench/run account` measured it (bench/RESULTS.md).
struct PriceList {
  std::uint32_t cores = 0;  ///< That all hosts share; 0 = nothing costs anything.
  Duration word_in{0};      ///< To decode and obey a message.
  Duration word_out{0};     ///< To make one.
  Duration carry_in{0};     ///< To receive and decrypt one, and to hand it on.
  Duration carry_out{0};    ///< To encrypt and send one.
  Duration row_in{0};       ///< To merge one row of those that were checked.
  Duration handshake{0};    ///< Of each end of a new connection.
  Duration sign{0};         ///< To sign a publish of the own row.
  Duration check{0};        ///< To look at a signature that was not seen before.
  Duration commit{0};       ///< To have something written.
  Duration tick{0};         ///< To look at the timers.
  Duration slice = std::chrono::milliseconds(3);  ///< Of one thread, while others wait.
};

enum class Lane : std::uint8_t {
  kReflex,  ///< With the transport.
  kLoop,
  kCheck,  ///< Of rows.
};

class Processors {
 public:
  explicit Processors(PriceList prices) : prices_(prices), cores_(prices.cores) {}

  bool is_on() const { return !cores_.empty(); }
  const PriceList& prices() const { return prices_; }
  std::uint32_t core_of(std::uint32_t host) const {
    return host % static_cast<std::uint32_t>(cores_.size());
  }
  /// Others take this share of every core from now on, in thousandths, below 1000.
  void burden(std::uint32_t thousandths) { burden_ = thousandths; }
  /// Work costs nothing from now on, or again what the list says.
  void be_free(bool is_free) { is_free_ = is_free; }

  /// That thread has work. The instant of the turn to plan; nullopt if the core has one planned.
  std::optional<Instant> wake(Instant now, std::uint32_t host, Lane lane);

  struct Turn {
    Instant at;  ///< Later than asked for: something else was charged meanwhile; plan it again.
    std::uint32_t host = 0;
    Lane lane = Lane::kLoop;
  };
  /// The thread that has its turn. Precondition: a turn was planned.
  Turn turn(Instant now, std::uint32_t core) const;
  /// It worked for `cost`, and has more to do or not. The instant of the next turn of that core;
  /// nullopt if no thread waits.
  std::optional<Instant> done(Instant now, std::uint32_t core, Duration cost, bool has_more);

  /// Work of that host outside of any turn, done before all else. The instant when it is over.
  Instant charge(Instant now, std::uint32_t host, Duration cost);

  /// The sum of all work so far, without what others took.
  Duration spent() const { return spent_; }

 private:
  struct Waiting {
    std::uint32_t host = 0;
    Lane lane = Lane::kLoop;
    Duration had{0};  ///< Of the core, so far.
  };
  struct Core {
    std::vector<Waiting> waiting;  ///< The first has its turn.
    bool is_planned = false;
    Instant free_at{};
    Duration used{0};   ///< Of the first one's slice.
    Duration least{0};  ///< The share of that one of those that work that has had least.
  };
  Duration& had(std::uint32_t host, Lane lane);
  static std::vector<Waiting>::iterator least_of(Core& core);
  static void choose(Core& core);
  /// Counts it, and how long it takes.
  Duration pay(Duration cost);

  PriceList prices_;
  std::vector<Core> cores_;
  std::vector<Duration> had_;  ///< By host and lane.
  std::uint32_t burden_ = 0;
  bool is_free_ = false;
  Duration spent_{0};
};

}  // namespace muster::sim
