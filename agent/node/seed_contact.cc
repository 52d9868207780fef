#include "agent/node/seed_contact.h"

#include <algorithm>

namespace muster::agent {

SeedContact::SeedContact(std::vector<gossip::Endpoint> seeds, const gossip::Endpoint& own,
                         Instant now) {
  for (const gossip::Endpoint& seed : seeds) {
    if (seed != own) {
      seeds_.push_back({seed, now});
    }
  }
}

bool SeedContact::take_complaint() {
  if (answered_ || tries_ < kTriesUntilTold * static_cast<int>(seeds_.size())) {
    return false;
  }
  const bool complain = !seeds_.empty();
  tries_ = 0;
  return complain;
}

void SeedContact::greet_all(Instant now) {
  for (Seed& seed : seeds_) {
    seed.next = now;
    seed.is_owed = true;
  }
}

Instant SeedContact::next_deadline() const {
  Instant next = kNever;
  for (const Seed& seed : seeds_) {
    next = std::min(next, seed.next);
  }
  return next;
}

std::vector<gossip::Endpoint> SeedContact::all() const {
  std::vector<gossip::Endpoint> endpoints;
  for (const Seed& seed : seeds_) {
    endpoints.push_back(seed.endpoint);
  }
  return endpoints;
}

bool SeedContact::is_seed(const gossip::Endpoint& endpoint) const {
  return std::any_of(seeds_.begin(), seeds_.end(),
                     [&](const Seed& seed) { return seed.endpoint == endpoint; });
}

}  // namespace muster::agent
