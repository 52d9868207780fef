#pragma once
// Reach: whether hosts that may be cut off answer this host itself, now. Who decides where new work
// goes asks them: those that others suspect, and all of them while something looks like a cut. It
// is no evidence: claims and verdicts rest on the observers' rounds alone (PROTOCOL.md, 9).
//
// Manner: no clock, no network. Its questions are probes under nonces of its own; an answer counts
// by the moment of its question, because TCP repeats old words after a freeze.
//
// Limits: kAsksASlice questions every kSlicePeriod, however many are doubted.

#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"

namespace muster::membership {

/// Each doubted host is asked this often, where they are not too many.
inline constexpr Duration kAskPeriod = std::chrono::milliseconds(500);
inline constexpr Duration kSlicePeriod = std::chrono::milliseconds(50);
inline constexpr std::size_t kAsksASlice = 64;
/// So many questions without an answer, 3 s of them, and a host is out of reach; one is enough of
/// a host that has not answered since it is doubted.
inline constexpr int kUnansweredMax = 6;
/// A host that was lost is trusted again no sooner than this.
inline constexpr Duration kRegainAfter = std::chrono::seconds(3);

enum class Doubt {
  kGone,     ///< It has a verdict or left: nothing is asked of it.
  kNone,     ///< Of membership's; see on_unanswered() for the leader's own.
  kCut,      ///< It seems alive, but something looks like a cut.
  kSuspect,  ///< Others miss it: in doubt it is out of reach.
};

/// What is known of one such host.
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
    std::vector<HostId> drop_links;  ///< The next question to such a host must dial anew.
    std::vector<HostId> changed;     ///< Hosts of which answers() is another.
  };

  Reach(HostId self, Rng rng) : self_(self), rng_(rng) {}

  void doubt(Instant now, HostId host, Doubt doubt);
  /// It left a question of the leader's unanswered: doubted until it answers, whatever it seems.
  void on_unanswered(Instant now, HostId host);
  /// Whether this host decides where work goes: it asks exactly then.
  void set_asking(Instant now, bool asking);
  void on_ack(Instant now, HostId from, Nonce nonce);
  /// This process stood still: what went unanswered meanwhile says nothing.
  void paused();
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output() { return std::exchange(output_, {}); }

  /// New work may go there. A host that is not doubted answers.
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
