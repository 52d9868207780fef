#pragma once
// Joining by seeds: greet every seed until its host is known and told us its cluster, and go on
// for ever, so that an agent started before its seeds finds them, and halves of a split cluster
// find each other again. People are told which seeds do not answer, and how.

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

/// Why a seed is not met.
enum class SeedSilence : std::uint8_t {
  kSilent,        ///< Nothing comes back from there.
  kRefused,       ///< The kernel there answers, and nobody listens.
  kUnproven,      ///< Somebody listens there, and proved to be no member yet (seed_keys.h).
  kOtherCluster,  ///< It is of another cluster than this host.
  kOtherVersion,  ///< It speaks another version of the protocol.
};
/// "silent", "refused", "nobody known there", "other cluster", "other version"
std::string_view name_of(SeedSilence silence);

struct UnmetSeed {
  gossip::Endpoint endpoint;
  SeedSilence silence = SeedSilence::kSilent;
  bool operator==(const UnmetSeed&) const = default;
};

class SeedContact {
 public:
  /// A seed that has not answered yet is greeted again after this, and where somebody listens twice
  /// as long after each time, up to the second: it may be slow because many greet it.
  static constexpr Duration kRetry = std::chrono::milliseconds(500);
  static constexpr Duration kRetryMax = std::chrono::seconds(2);
  /// ... and while one was never met, people are told: at first so often,
  static constexpr Duration kTellEarly = std::chrono::seconds(5);
  /// from this age on once a minute,
  static constexpr Duration kEarly = std::chrono::seconds(30);
  static constexpr Duration kTell = std::chrono::minutes(1);
  /// and where another seed was met, so that this host is not alone, as rarely as this.
  static constexpr Duration kTellInCompany = std::chrono::hours(1);
  /// A seed whose host is met is looked at this often: it may be gone by then.
  static constexpr Duration kRetryKnown = std::chrono::seconds(30);

  /// `own` (an agent may be its own seed) is left out.
  SeedContact(std::vector<gossip::Endpoint> seeds, const gossip::Endpoint& own, Instant now);

  struct Greeting {
    gossip::Endpoint seed;
    bool is_owed = false;  ///< By greet_all().
  };
  /// The seeds to greet now. `is_met(endpoint)` says whether a live member is known there. Before
  /// this host has a cluster it asks those, too: only an answer to its own question names one.
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
  /// This host has become one of a cluster. Rows of it that came before were refused, and nobody
  /// says them again: all seeds are greeted now, for a greeting compares rows.
  void greet_all(Instant now);
  /// A dial to that address failed, or what was established ended.
  void on_link_down(const gossip::LinkDown& lost);
  /// Who answers there is none of us.
  void on_foreign(const gossip::Endpoint& from, SeedSilence why);

  /// Those that were never met since the start.
  std::vector<UnmetSeed> unmet() const;
  /// True each time people should hear of those that are unmet(), if there are any.
  bool take_complaint(Instant now);
  Instant next_deadline() const;
  std::vector<gossip::Endpoint> all() const;
  bool is_seed(const gossip::Endpoint& endpoint) const;

 private:
  struct Seed {
    gossip::Endpoint endpoint;
    Instant next;
    Duration wait = kRetry;
    bool is_owed = false;  ///< Greeted once more, met or not.
    bool was_met = false;
    SeedSilence silence = SeedSilence::kSilent;
  };
  Seed* find(const gossip::Endpoint& endpoint);

  std::vector<Seed> seeds_;
  Instant begun_;
  Instant tell_at_;
};

}  // namespace muster::agent
