#pragma once
// EndReport reports the results of a grant's ranks to the leader until it acknowledges them. An
// early report tells the first failure while other ranks may still run. The last report has all
// results. Each is repeated with growing pauses. An aborted grant repeats nothing: it answers each
// question once. Owned by Grant.
//
// The agent forgets the evidence only when the last report is acknowledged. Therefore EndReport
// keeps the nonces of last reports; GrantSteps keeps those of early ones.

#include <cstddef>
#include <utility>
#include <vector>

#include "agent/gang/recent_nonces.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

/// Nonces kept of one kind of Finish: some minutes of repeats.
inline constexpr std::size_t kFinishNoncesMax = 64;

class EndReport {
 public:
  /// A rank failed while others may still run: the early report is due at once.
  void begin_early(Instant now, scheduler::RankResult first, Duration retry);
  bool is_early() const { return !early_.empty(); }
  const std::vector<scheduler::RankResult>& early() const { return early_; }
  /// All ranks ended, and the end is durable: the last report can begin. False if a report is under
  /// way.
  bool begin_last(Duration retry);
  /// The report is acknowledged, or the end has overtaken it.
  void stop();
  /// Repeats a report that is under way at once, for another leader.
  void restart(Instant now, Duration retry);

  /// The report was sent; the next pause is twice as long, up to `pause_max`.
  void said(Instant now, Duration pause_max);
  /// The time of the next repeat; kNever if no report is under way.
  Instant repeat_at() const { return at_; }
  /// The last report was sent under `nonce`.
  void last_sent(Nonce nonce) { last_nonces_.add(nonce); }
  bool was_last(Nonce nonce) const { return last_nonces_.contains(nonce); }

  /// The leader asked about an aborted grant, or will.
  void want_answer() { answer_wanted_ = true; }
  /// Returns and clears the wish for an answer.
  bool take_wanted() { return std::exchange(answer_wanted_, false); }

 private:
  std::vector<scheduler::RankResult> early_;  ///< The first failure, reported before the end.
  Instant at_ = kNever;
  Duration pause_{0};  ///< The pause after the next report.
  RecentNonces last_nonces_{kFinishNoncesMax};
  bool answer_wanted_ = false;
};

}  // namespace muster::agent
