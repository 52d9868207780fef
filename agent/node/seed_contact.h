#pragma once
// Joining by seeds: greet every seed until its host is known and told us its cluster, and go on
// for ever, so that an agent started before its seeds finds them, and halves of a split cluster
// find each other again.

#include <optional>
#include <utility>
#include <vector>

#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"

namespace muster::agent {

class SeedContact {
 public:
  /// A seed that has not answered yet is greeted this often ...
  static constexpr Duration kRetry = std::chrono::milliseconds(500);
  /// ... and after this many tries without any seed's answer people are told, every so often.
  static constexpr int kTriesUntilTold = 10;
  /// A seed whose host is met is looked at this often: it may be gone by then.
  static constexpr Duration kRetryKnown = std::chrono::seconds(30);

  /// `own` (an agent may be its own seed) is left out.
  SeedContact(std::vector<gossip::Endpoint> seeds, const gossip::Endpoint& own, Instant now);

  /// The seeds to greet now. `is_met(endpoint)` says whether a live member is known there. Before
  /// this host has a cluster it asks those, too: only an answer to its own question names one.
  template <class IsMet>
  std::vector<gossip::Endpoint> due(Instant now, bool has_cluster, IsMet is_met) {
    std::vector<gossip::Endpoint> greet;
    for (Seed& seed : seeds_) {
      if (now < seed.next) {
        continue;
      }
      const bool met = is_met(seed.endpoint);
      answered_ = answered_ || met;
      const bool is_done = met && has_cluster;
      seed.next = now + (is_done ? kRetryKnown : kRetry);
      tries_ += met ? 0 : 1;
      if (std::exchange(seed.is_owed, false) || !is_done) {
        greet.push_back(seed.endpoint);
      }
    }
    return greet;
  }
  /// This host has become one of a cluster. Rows of it that came before were refused, and nobody
  /// says them again: all seeds are greeted now, for a greeting compares rows.
  void greet_all(Instant now);
  /// True once each time people should hear that no seed answers.
  bool take_complaint();
  Instant next_deadline() const;
  std::vector<gossip::Endpoint> all() const;
  bool is_seed(const gossip::Endpoint& endpoint) const;

 private:
  struct Seed {
    gossip::Endpoint endpoint;
    Instant next;
    bool is_owed = false;  ///< Greeted once more, met or not.
  };
  std::vector<Seed> seeds_;
  bool answered_ = false;
  int tries_ = 0;
};

}  // namespace muster::agent
