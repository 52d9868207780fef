#include "membership/evidence.h"

#include <algorithm>

#include "membership/mutants.h"

namespace muster::membership {
namespace {

bool subject_less(const HeldClaim& left, const HeldClaim& right) {
  return left.claim.subject < right.claim.subject;
}

bool same_subject(const HeldClaim& left, const HeldClaim& right) {
  return left.claim.subject == right.claim.subject;
}

/// Sorted, one claim a subject; a claim that stood before keeps its age.
std::vector<HeldClaim> held_since(Instant now, std::vector<crdt::Claim> claims,
                                  const std::vector<HeldClaim>& before) {
  std::vector<HeldClaim> held;
  for (const crdt::Claim& claim : claims) {
    held.push_back({claim, now});
  }
  std::sort(held.begin(), held.end(), subject_less);
  held.erase(std::unique(held.begin(), held.end(), same_subject), held.end());
  for (HeldClaim& claim : held) {
    const auto old = std::lower_bound(before.begin(), before.end(), claim, subject_less);
    if (old != before.end() && same_subject(*old, claim) &&
        old->claim.generation == claim.claim.generation) {
      claim.since = old->since;
    }
  }
  return held;
}

/// The subjects of claims that only one of two sorted sets has.
std::vector<HostId> difference(const std::vector<HeldClaim>& left,
                               const std::vector<HeldClaim>& right) {
  std::vector<HostId> subjects;
  auto l = left.begin();
  auto r = right.begin();
  while (l != left.end() || r != right.end()) {
    if (r == right.end() || (l != left.end() && subject_less(*l, *r))) {
      subjects.push_back((l++)->claim.subject);
    } else if (l == left.end() || subject_less(*r, *l)) {
      subjects.push_back((r++)->claim.subject);
    } else {
      if (l->claim != r->claim) {
        subjects.push_back(l->claim.subject);
      }
      ++l;
      ++r;
    }
  }
  return subjects;
}

}  // namespace

std::vector<HostId> Evidence::replace(Instant now, HostId observer,
                                      std::vector<crdt::Claim> claims) {
  std::vector<HeldClaim> before;
  if (const auto found = by_observer_.find(observer); found != by_observer_.end()) {
    before = std::move(found->second);
    by_observer_.erase(found);
  }
  std::vector<HeldClaim> after = held_since(now, std::move(claims), before);
  std::vector<HostId> subjects = difference(before, after);
  if (!after.empty()) {
    by_observer_.emplace(observer, std::move(after));
  }
  return subjects;
}

const HeldClaim* Evidence::find(HostId observer, HostId subject, Generation generation) const {
  const auto set = by_observer_.find(observer);
  if (set == by_observer_.end()) {
    return nullptr;
  }
  HeldClaim key;
  key.claim.subject = subject;
  const auto& claims = set->second;
  const auto found = std::lower_bound(claims.begin(), claims.end(), key, subject_less);
  const bool is_about =
      found != claims.end() && found->claim.subject == subject &&
      (found->claim.generation == generation || mutant(MembershipMutant::kGenerationForgotten));
  return is_about ? &*found : nullptr;
}

crdt::ClaimKind Tally::kind() const {
  const bool is_refused = strong > 0 ? refused * 2 > strong : weak_refused * 2 > weak;
  return is_refused ? crdt::ClaimKind::kRefused : crdt::ClaimKind::kSilent;
}

Tally Evidence::tally(HostId subject, Generation generation,
                      const std::vector<HostId>& observers) const {
  Tally tally;
  for (const HostId& observer : observers) {
    const HeldClaim* held = find(observer, subject, generation);
    if (held == nullptr) {
      continue;
    }
    const std::size_t refused = held->claim.kind == crdt::ClaimKind::kRefused ? 1 : 0;
    if (held->claim.weak && !mutant(MembershipMutant::kWeakClaimsCounted)) {
      ++tally.weak;
      tally.weak_refused += refused;
    } else {
      ++tally.strong;
      tally.refused += refused;
    }
  }
  return tally;
}

std::vector<Accusation> Evidence::accusations(HostId subject, Generation generation,
                                              const std::vector<HostId>& observers) const {
  std::vector<Accusation> accusations;
  for (const HostId& observer : observers) {
    if (const HeldClaim* held = find(observer, subject, generation); held != nullptr) {
      accusations.push_back({observer, held->claim.kind, held->claim.weak, held->since});
    }
  }
  return accusations;
}

}  // namespace muster::membership
