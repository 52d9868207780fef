#pragma once
// SeedContact decides when to greet the seeds. It greets a seed until its host is known and has
// named its cluster, and it never stops: an agent that started before its seeds finds them, and the
// halves of a split cluster find each other again. It reports seeds that do not answer. Owned by
// SeedGreeting.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"
#include "gossip/wire/transport.h"

namespace muster::agent {

/// The reason that a seed is not met.
enum class SeedSilence : std::uint8_t {
  kSilent,        ///< No answer comes from there.
  kRefused,       ///< The kernel there refuses: no process listens.
  kUnproven,      ///< A process listens there that has not proved to be a member (seed_keys.h).
  kOtherCluster,  ///< It belongs to another cluster than this host.
  kOtherVersion,  ///< It speaks another version of the protocol.
};
/// "silent", "refused", "no known member there", "other cluster", "other version"
std::string_view name_of(SeedSilence silence);

struct UnmetSeed {
  gossip::Endpoint endpoint;
  SeedSilence silence = SeedSilence::kSilent;
  bool operator==(const UnmetSeed&) const = default;
};

class SeedContact {
 public:
  /// Time between two greetings of a seed that is not met. A host with a cluster doubles it each
  /// time, up to kRetryMax, unless the seed is refused or unproven: the seed may be slow because
  /// many hosts greet it.
  static constexpr Duration kRetry = std::chrono::milliseconds(500);
  static constexpr Duration kRetryMax = std::chrono::seconds(2);
  /// Time between two reports of unmet seeds, up to the age of kEarly.
  static constexpr Duration kTellEarly = std::chrono::seconds(5);
  static constexpr Duration kEarly = std::chrono::seconds(30);
  /// The same from then on, if this host has met no seed.
  static constexpr Duration kTell = std::chrono::minutes(1);
  /// The same from then on, if it has met another seed.
  static constexpr Duration kTellInCompany = std::chrono::hours(1);
  /// Time between two looks at a seed that is met: its host may be gone by then.
  static constexpr Duration kRetryKnown = std::chrono::seconds(30);

  /// Leaves out `own`: an agent may be its own seed.
  SeedContact(std::vector<gossip::Endpoint> seeds, const gossip::Endpoint& own, Instant now);

  struct Greeting {
    gossip::Endpoint seed;
    bool is_owed = false;  ///< greet_all() asked for it.
  };
  /// The seeds to greet now. `is_met(endpoint)` is true if a live member is known there. A host
  /// without a cluster greets those, too: only an answer to its own question names a cluster.
  template <class IsMet>
  std::vector<Greeting> due(Instant now, bool has_cluster, IsMet is_met) {
    std::vector<Greeting> greet;
    for (Seed& seed : seeds_) {
      if (now < seed.next) {
        continue;
      }
      const bool met = is_met(seed.endpoint);
      seed.was_met = seed.was_met || met;
      const bool is_done = met && has_cluster;
      seed.next = now + (is_done ? kRetryKnown : seed.wait);
      const bool may_be_slow = has_cluster && seed.silence != SeedSilence::kRefused &&
                               seed.silence != SeedSilence::kUnproven;
      seed.wait = may_be_slow ? std::min(2 * seed.wait, kRetryMax) : kRetry;
      const bool is_owed = std::exchange(seed.is_owed, false);
      if (is_owed || !is_done) {
        greet.push_back({seed.endpoint, is_owed});
      }
    }
    return greet;
  }
  /// This host has joined a cluster. It had refused the rows of its members before, and no host
  /// sends them again. Therefore it greets all seeds now, for a greeting compares rows.
  void greet_all(Instant now);
  /// A dial to that address failed, or a connection there ended.
  void on_link_down(const gossip::LinkDown& lost);
  /// The host that answers there is of another cluster or version.
  void on_foreign(const gossip::Endpoint& from, SeedSilence why);

  /// Seeds that this host has not met since its start.
  std::vector<UnmetSeed> unmet() const;
  /// True if there are unmet() seeds, and a report of them is due.
  bool take_complaint(Instant now);
  Instant next_deadline() const;
  std::vector<gossip::Endpoint> all() const;
  bool is_seed(const gossip::Endpoint& endpoint) const;

 private:
  struct Seed {
    gossip::Endpoint endpoint;
    Instant next;
    Duration wait = kRetry;
    bool is_owed = false;  ///< To be greeted once more, met or not.
    bool was_met = false;
    SeedSilence silence = SeedSilence::kSilent;
  };
  Seed* find(const gossip::Endpoint& endpoint);

  std::vector<Seed> seeds_;
  Instant begun_;
  Instant tell_at_;
};

}  // namespace muster::agent
