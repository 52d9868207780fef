#pragma once
// EndReport: how one grant tells the leader what came of its ranks, until that is acknowledged. A
// part of Grant. A first failure is told early, while other ranks may still run; the last word has
// the results of all. Each is repeated with growing pauses. An aborted grant has nothing to repeat:
// it answers whoever asks, once each time.
//
// Evidence is forgotten only when the acknowledged word was the last one: so the nonces of the last
// word are remembered here, and those of early ones elsewhere (Grants).

#include <cstddef>
#include <utility>
#include <vector>

#include "agent/gang/recent_nonces.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

/// Of one kind of Finish, remembered: some minutes of repeats.
inline constexpr std::size_t kFinishNoncesMax = 64;

class EndReport {
 public:
  /// A rank failed while others may still run: that is told at once.
  void begin_early(Instant now, scheduler::RankResult first, Duration retry);
  bool is_early() const { return !early_.empty(); }
  const std::vector<scheduler::RankResult>& early() const { return early_; }
  /// All ranks ended, and the end is durable: the last word can be told. False when it is under way
  /// already.
  bool begin_last(Duration retry);
  /// What is repeated is acknowledged, or has been overtaken by the end.
  void stop();
  /// Another leader has to hear at once what is being repeated.
  void restart(Instant now, Duration retry);

  /// It was said; the next pause is twice as long, up to `pause_max`.
  void said(Instant now, Duration pause_max);
  /// When it is repeated; kNever while nothing is under way.
  Instant repeat_at() const { return at_; }
  /// The last word went under `nonce`.
  void last_sent(Nonce nonce) { last_nonces_.add(nonce); }
  bool was_last(Nonce nonce) const { return last_nonces_.contains(nonce); }

  /// Somebody asked about an aborted grant, or will.
  void want_answer() { answer_wanted_ = true; }
  /// Whether an answer is wanted; it is not any more.
  bool take_wanted() { return std::exchange(answer_wanted_, false); }

 private:
  std::vector<scheduler::RankResult> early_;  ///< First failure, reported before the end.
  Instant at_ = kNever;
  Duration pause_{0};  ///< After the next word.
  RecentNonces last_nonces_{kFinishNoncesMax};
  bool answer_wanted_ = false;
};

}  // namespace muster::agent
