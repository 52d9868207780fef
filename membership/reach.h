#pragma once
// Reach: whether hosts that may be cut off answer this host itself, now. Owned by LeaderContact.
// The leader asks the hosts that others suspect, and all hosts while something looks like a cut.
// Answers are no evidence: claims rest on the observers' rounds alone (PROTOCOL.md, 9).
//
// Pure: no clock, no network. Its questions are Probes under nonces of its own. An answer counts
// under the nonce of a recent question only, because TCP repeats old words after a freeze.
//
// Limit: kAsksASlice questions every kSlicePeriod, however many hosts are doubted.

#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"

namespace muster::membership {

/// Time between two questions to a doubted host, unless there are too many such hosts.
inline constexpr Duration kAskPeriod = std::chrono::milliseconds(500);
inline constexpr Duration kSlicePeriod = std::chrono::milliseconds(50);
inline constexpr std::size_t kAsksASlice = 64;
/// A host is out of reach after this many questions in a row without an answer, 3 s. One question
/// is enough if the host has not answered since it is doubted.
inline constexpr int kUnansweredMax = 6;
/// A host that was lost is trusted again no sooner than this.
inline constexpr Duration kRegainAfter = std::chrono::seconds(3);

enum class Doubt {
  kGone,     ///< It has a verdict or left: it is not asked.
  kNone,     ///< Membership does not doubt it. The leader itself may: see on_unanswered().
  kCut,      ///< It seems alive, but something looks like a cut.
  kSuspect,  ///< Others miss it: in doubt it is out of reach.
};

/// The questions to one doubted host and their answers.
struct Doubted {
  Doubt doubt = Doubt::kCut;
  bool answers = true;
  bool has_answered = false;
  bool is_unmet = false;  ///< See on_unanswered().
  int unanswered = 0;     ///< Questions, in a row.
  Instant lost_at = kLongAgo;
  Instant asked_at = kLongAgo;
  std::array<Nonce, kUnansweredMax> asked{};  ///< The latest, in a ring.
  std::size_t next = 0;
};

class Reach {
 public:
  struct Output {
    std::vector<std::pair<HostId, Nonce>> asks;  ///< A Probe each.
    std::vector<HostId> drop_links;              ///< The next question to such a host dials again.
    std::vector<HostId> changed;                 ///< Hosts for which answers() changed.
  };

  Reach(HostId self, Rng rng) : self_(self), rng_(rng) {}

  void doubt(Instant now, HostId host, Doubt doubt);
  /// The host left a question of the leader unanswered. It is doubted until it answers.
  void on_unanswered(Instant now, HostId host);
  /// Whether this host leads. It asks only while it does.
  void set_asking(Instant now, bool asking);
  void on_ack(Instant now, HostId from, Nonce nonce);
  /// This process stood still: its unanswered questions do not count.
  void paused();
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output() { return std::exchange(output_, {}); }

  /// Whether new work may go to `host`. True for a host that is not doubted.
  bool answers(HostId host) const;
  std::size_t doubted() const { return doubted_.size(); }

 private:
  using Doubts = std::map<HostId, Doubted>;
  static Doubted fresh(Doubt doubt);
  void forget_if_met(Doubts::iterator place);
  Doubted& begin(Instant now, HostId host, Doubt doubt);
  void ask(Instant now, HostId host, Doubted& each);
  void set_answers(Instant now, HostId host, Doubted& each, bool answers);

  HostId self_;  ///< Never doubted.
  Rng rng_;
  bool asking_ = false;
  Doubts doubted_;
  HostId cursor_;  ///< The next slice begins behind it; zero = a round begins.
  Instant round_at_ = kLongAgo;
  Instant slice_at_ = kLongAgo;
  Output output_;
};

}  // namespace muster::membership
