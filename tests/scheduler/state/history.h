#pragma once
// Draws entries for the scheduler's log, one after the other: mostly entries that a leader would
// log in the present state, now and then those of a late or confused leader. Every kind comes up,
// and so do repeated keys, second registrations, reboots, expired holds, and time enough to forget
// old keys.

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/state/state.h"

namespace muster::scheduler::testing {

class History {
 public:
  explicit History(std::uint64_t seed) : rng_(seed) {}

  /// The next entry for a log whose state is `state`.
  Entry next(const State& state);

 private:
  entry::Register draw_register(const State& state);
  entry::Submit draw_submit();
  entry::Cancel draw_cancel(const State& state);
  Entry draw_order(const State& state);
  Entry draw_of_host(const State& state);
  entry::SetQueues draw_queues(const State& state);
  entry::Observe draw_observe();
  entry::Tick draw_tick();
  Entry draw_decide(const State& state);
  Entry draw_preempt(const State& state);
  Entry draw_of_attempt(const State& state);
  Entry draw_of_reserved(const Attempt& attempt, const MemberRecord& record);
  entry::Finish draw_finish(const Attempt& attempt, const MemberRecord& record);
  Entry draw_stray(const Attempt& attempt, const MemberRecord& record);
  Entry draw_of_silence(const State& state, const Attempt& attempt, const MemberRecord& record);
  bool one_in(std::uint64_t count) { return rng_.below(count) == 0; }

  Rng rng_;
  std::uint64_t keys_ = 0;
  std::uint64_t hours_left_ = 0;  ///< Of a stretch in which nothing happens.
  std::vector<std::uint64_t> generations_ = std::vector<std::uint64_t>(kHosts + 1, 0);
  std::vector<std::uint64_t> boots_ = std::vector<std::uint64_t>(kHosts + 1, 1);

  static constexpr std::uint64_t kHosts = 4;
  static constexpr std::uint32_t kGpus = 4;
};

}  // namespace muster::scheduler::testing
