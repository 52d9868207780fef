#include "agent/roll/seed_contact.h"

#include <algorithm>

namespace muster::agent {

SeedContact::SeedContact(std::vector<gossip::Endpoint> seeds, const gossip::Endpoint& own,
                         Instant now)
    : begun_(now), tell_at_(now + kTellEarly) {
  for (const gossip::Endpoint& seed : seeds) {
    if (seed != own) {
      seeds_.push_back({seed, now});
    }
  }
}

std::string_view name_of(SeedSilence silence) {
  switch (silence) {
    case SeedSilence::kSilent:
      return "silent";
    case SeedSilence::kRefused:
      return "refused";
    case SeedSilence::kUnproven:
      return "no known member there";
    case SeedSilence::kOtherCluster:
      return "other cluster";
    case SeedSilence::kOtherVersion:
      return "other version";
  }
  return "";
}

std::vector<UnmetSeed> SeedContact::unmet() const {
  std::vector<UnmetSeed> unmet;
  for (const Seed& seed : seeds_) {
    if (!seed.was_met) {
      unmet.push_back({seed.endpoint, seed.silence});
    }
  }
  return unmet;
}

bool SeedContact::take_complaint(Instant now) {
  const std::size_t silent = unmet().size();
  if (now < tell_at_ || silent == 0) {
    return false;
  }
  const bool is_alone = silent == seeds_.size();
  tell_at_ = now + (now - begun_ < kEarly ? kTellEarly : is_alone ? kTell : kTellInCompany);
  return true;
}

SeedContact::Seed* SeedContact::find(const gossip::Endpoint& endpoint) {
  const auto found = std::find_if(seeds_.begin(), seeds_.end(),
                                  [&](const Seed& seed) { return seed.endpoint == endpoint; });
  return found == seeds_.end() ? nullptr : &*found;
}

void SeedContact::on_link_down(const gossip::LinkDown& lost) {
  if (Seed* seed = find(lost.peer)) {
    // The end of a connection tells nothing new; the dial that follows does.
    const bool is_dial = lost.loss != gossip::LinkLoss::kReset;
    const bool is_refused = lost.loss == gossip::LinkLoss::kRefused;
    const bool is_unproven = lost.loss == gossip::LinkLoss::kUnproven;
    seed->silence = !is_dial      ? seed->silence
                    : is_refused  ? SeedSilence::kRefused
                    : is_unproven ? SeedSilence::kUnproven
                                  : SeedSilence::kSilent;
  }
}

void SeedContact::on_foreign(const gossip::Endpoint& from, SeedSilence why) {
  if (Seed* seed = find(from)) {
    seed->silence = why;
  }
}

void SeedContact::greet_all(Instant now) {
  for (Seed& seed : seeds_) {
    seed.next = now;
    seed.wait = kRetry;
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
