#pragma once
// The scheduler's core as a leader has it: its machine, whose entries are encoded, applied and
// hashed at once, and whose messages are made and dropped. No disk, no peers, no agents; its clock
// stands still, so there are no limits of changes a second. Cluster time goes on by tick() alone.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/leader/scheduler.h"

namespace muster::bench {

class LedCore {
 public:
  /// Its limits of changes are as good as none, whatever `config` says.
  explicit LedCore(scheduler::SchedulerConfig config = {});

  /// From here on it leads.
  void lead();
  /// Applies an entry as if the log gave it.
  void apply(std::string bytes);
  /// Applies proposed entries until there are no more.
  void settle();
  /// The proposals of this step, of which none is applied yet.
  std::vector<std::string> take_proposals();
  /// Steps the leader; settle() applies the entry.
  void submit(std::uint64_t request, std::string key, scheduler::JobSpec spec);
  /// Cluster time goes on, in steps of at most kTickMax, and the leader places what fits then.
  void tick(Duration elapsed);
  /// Each host of a reserved attempt is ready, so that it starts.
  void start(const Token& token);
  /// All ranks of a started attempt end well, one host after the other.
  void finish(const Token& token);
  /// Attempts decided since the last call.
  std::vector<Token> take_decided();

  const scheduler::Scheduler& scheduler() const { return scheduler_; }
  const scheduler::State& state() const { return scheduler_.state(); }
  std::uint64_t entries() const { return index_.value(); }

 private:
  std::vector<scheduler::Member> members(const Token& token) const;

  Instant now_{std::chrono::hours(1)};
  scheduler::Scheduler scheduler_;
  LogIndex index_;
  std::uint64_t hash_ = 0;
  std::vector<Token> decided_;
};

}  // namespace muster::bench
