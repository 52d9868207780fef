#include "membership/watch.h"

#include <algorithm>
#include <set>

#include "gossip/base/check.h"
#include "membership/mutants.h"
#include "membership/rings.h"

namespace muster::membership {
namespace {

using crdt::ClaimKind;

/// The silent attempts after which an observer calls the ring; to a sweep the subject is missing.
constexpr int kSilentBeforeCall = 2;
/// The silent attempts that give the link up: the kernel's back-off on it would pass ten seconds.
constexpr int kSilentBeforeRedial = 3;
/// n: 1.5 s of silence make a claim; 2 s if this host is the only observer (PROTOCOL.md, 5).
constexpr int kSilentBeforeClaim = 6;
constexpr int kSilentBeforeLoneClaim = 8;
constexpr int kRefusedBeforeClaim = 2;
/// A silent subject that is claimed already needs no long rounds.
constexpr int kAttemptsOfClaimed = 3;
/// The longest wait after a veto: the ring may still be wrong about a death just now.
constexpr Duration kVetoWaitMax = std::chrono::seconds(2);
/// Window claim: set at 7 of the last 10 rounds unanswered, cleared at 4, only while the median of
/// the other subjects is at most 2: above that the own link is bad.
constexpr int kWindowSet = 7;
constexpr int kWindowClear = 4;
constexpr int kWindowMedianMax = 2;
/// An observer that claimed more hosts than this at once tells no ring that it hears one again.
constexpr std::size_t kClaimsToTell = 2;
/// A sweep has answered when two attempts had their time.
constexpr Duration kSweepPeriod = std::chrono::seconds(2);
/// Claims younger than this are taken back by a host that finds itself isolated.
constexpr Duration kRetractAge = std::chrono::seconds(3);

}  // namespace

const SubjectProbe* Watch::find(HostId subject) const {
  const auto less = [](const SubjectProbe& probe, HostId id) { return probe.subject < id; };
  const auto found = std::lower_bound(probes_.begin(), probes_.end(), subject, less);
  return found != probes_.end() && found->subject == subject ? &*found : nullptr;
}

SubjectProbe* Watch::find(HostId subject) {
  return const_cast<SubjectProbe*>(std::as_const(*this).find(subject));
}

void Watch::set_subject(Instant now, HostId subject, Generation generation,
                        const std::vector<HostId>& observers, const std::string& rack) {
  CHECK(subject != self_);
  SubjectProbe* probe = find(subject);
  const Duration period = probe_period(observers.size());
  if (probe == nullptr || probe->generation != generation) {
    drop_subject(subject);
    SubjectProbe fresh;
    fresh.subject = subject;
    fresh.generation = generation;
    fresh.round_at = now + rng_.between(Duration(0), period);
    fresh.patient_until = now + kFirstContact;
    const auto less = [](const SubjectProbe& left, HostId id) { return left.subject < id; };
    const auto place = std::lower_bound(probes_.begin(), probes_.end(), subject, less);
    probe = &*probes_.insert(place, std::move(fresh));
  }
  racks_[subject] = rack;
  probe->observers = observers;
  probe->period = period;
  probe->silent_max = observers.size() == 1 ? kSilentBeforeLoneClaim : kSilentBeforeClaim;
}

void Watch::drop_subject(HostId subject) {
  racks_.erase(subject);
  std::erase_if(probes_, [&](const SubjectProbe& probe) { return probe.subject == subject; });
}

void Watch::set_absent(HostId subject, bool absent) {
  if (SubjectProbe* probe = find(subject); probe != nullptr) {
    probe->is_absent = absent;
  }
}

// Rounds and attempts.

void Watch::tick(Instant now) {
  for (SubjectProbe& probe : probes_) {
    if (now < probe.deadline()) {
      continue;
    }
    if (probe.is_idle()) {
      begin_round(now, probe);
    } else {
      attempt_over(now, probe);
    }
  }
}

Instant Watch::next_deadline() const {
  Instant deadline = kNever;
  for (const SubjectProbe& probe : probes_) {
    deadline = std::min(deadline, probe.deadline());
  }
  return deadline;
}

void Watch::begin_round(Instant now, SubjectProbe& probe) {
  const bool was_silent = probe.claim == ClaimKind::kSilent;
  probe.begin_round(now);
  if (was_silent) {
    give_up_link(probe);
  }
  send_attempt(now, probe);
}

void Watch::send_attempt(Instant now, SubjectProbe& probe) {
  const Duration timeout =
      std::max(health_.stretch(kAttemptTimeout),
               now < probe.patient_until ? Duration(kFirstAttemptTimeout) : Duration(0));
  const Nonce nonce = probe.attempt(now, timeout, rng_);
  output_.messages.push_back({probe.subject, nonce, Probe{}});
}

void Watch::attempt_over(Instant now, SubjectProbe& probe) {
  if (!health_.may_judge(now)) {
    probe.attempt_at = health_.judge_from();
    return;
  }
  if (probe.is_pausing && probe.silent < probe.silent_max) {
    send_attempt(now, probe);
    return;
  }
  missed(now, probe);
}

/// After a cut silent hosts come back together: when one is back, the observer looks at the others.
/// Each would otherwise wait for its next round, and for a dial that went into the cut.
void Watch::look_at_claimed(Instant now) {
  for (SubjectProbe& probe : probes_) {
    if (probe.claim == ClaimKind::kSilent && now - probe.last_sent >= kRedialDelay) {
      probe.end_round(now);
      begin_round(now, probe);
    }
  }
}

/// An attempt was met with silence.
void Watch::missed(Instant now, SubjectProbe& probe) {
  ++probe.silent;
  if (!probe.is_claimed() && now - probe.began >= kWindowAnswer) {
    take_sample(probe, true);
  }
  if (probe.silent >= kSilentBeforeCall) {
    if (probe.claim != ClaimKind::kSilent) {
      call_ring(now, probe);  // Else the ring has the claim itself.
    }
    consider_sweep(now);
    update_isolation(now);
  }
  if (probe.silent >= kSilentBeforeRedial) {
    give_up_link(probe);
  }
  const bool is_known = probe.claim == ClaimKind::kSilent && (!probe.weak || is_isolated_);
  if (is_known && probe.silent >= kAttemptsOfClaimed) {
    probe.end_round(next_try(now, probe));
  } else if (probe.is_vetoed && now - probe.began >= kWindowAnswer) {
    probe.end_round(now + std::min(probe.period, kVetoWaitMax));
  } else if (!probe.is_vetoed && probe.silent >= probe.silent_max && !must_sweep_first(now)) {
    claim(now, probe, ClaimKind::kSilent);
  } else {
    send_attempt(now, probe);
  }
}

/// An attempt was refused by a kernel that lives: an immediate miss.
void Watch::refused(Instant now, SubjectProbe& probe) {
  ++probe.refused;
  if (probe.refused >= kRefusedBeforeClaim || probe.claim == ClaimKind::kRefused) {
    claim(now, probe, ClaimKind::kRefused);
    return;
  }
  probe.is_pausing = true;
  probe.attempt_at = now + kRedialDelay;
}

void Watch::on_link_lost(Instant now, HostId subject, gossip::LinkLoss loss) {
  SubjectProbe* probe = find(subject);
  // A dial that timed out is silence, and silence is judged by attempts.
  const bool is_silence = loss == gossip::LinkLoss::kTimeout || loss == gossip::LinkLoss::kUnproven;
  if (probe == nullptr || is_silence || !health_.may_judge(now)) {
    return;
  }
  if (probe->is_idle()) {
    // An agent that was killed resets its links, and the dial that asks why is refused at once.
    // A claimed subject is dialled for other reasons too, and refuses each time.
    if (loss == gossip::LinkLoss::kReset || !probe->claim.has_value()) {
      poke(now, *probe);
    }
  } else if (probe->is_pausing) {
    return;
  } else if (loss == gossip::LinkLoss::kRefused) {
    refused(now, *probe);
  } else {
    ++probe->silent;
    probe->is_pausing = true;
    probe->attempt_at = std::max(now, probe->last_sent + kRedialDelay);
  }
}

/// Begins a round now, unless one runs or an attempt has only just been made.
void Watch::poke(Instant now, SubjectProbe& probe) {
  if (!probe.is_idle()) {
    return;
  }
  const Instant earliest = probe.last_sent + kRedialDelay;
  if (now < earliest) {
    probe.round_at = std::min(probe.round_at, earliest);
  } else {
    begin_round(now, probe);
  }
}

void Watch::give_up_link(SubjectProbe& probe) {
  if (!probe.is_dropped) {
    probe.is_dropped = true;
    output_.drop_links.push_back(probe.subject);
  }
}

Instant Watch::next_try(Instant now, const SubjectProbe& probe) {
  // Twice to four times as often as T and at random: the observer that looks first after a cut
  // calls the others, and the stagger was lost when all looked at once.
  return now + rng_.between(probe.period / 4, probe.period / 2);
}

void Watch::paused(Instant now) {
  if (mutant(MembershipMutant::kNoPauseRule)) {
    return;
  }
  health_.paused(now);
  for (SubjectProbe& probe : probes_) {
    if (!probe.is_idle()) {
      probe.end_round(now);
      probe.silent = 0;
    }
  }
}

// Answers.

bool Watch::on_ack(Instant now, Instant at, HostId from, Nonce nonce, const Ack& ack) {
  SubjectProbe* probe = find(from);
  if (probe == nullptr || (!probe->knows(nonce) && !mutant(MembershipMutant::kNonceUnchecked))) {
    return false;
  }
  health_.add_success();
  probe->patient_until = std::min(probe->patient_until, now);
  if (probe->call_nonce != Nonce()) {
    probe->back_off(now);
  }
  const bool was_claimed = probe->claim.has_value();
  const bool was_missing = probe->is_missing();
  take_sample(*probe, at - probe->began > kWindowAnswer);
  probe->claim.reset();
  probe->weak = probe->weak && probe->window_claim;
  probe->silent = 0;
  probe->sent = 0;
  probe->call_nonce = Nonce();
  const Duration wanted = ack.probe_me_next;
  const bool is_sane = wanted >= probe->period / 4 && wanted <= probe->period * 2;
  probe->end_round(at + (is_sane ? wanted : probe->period));
  answer_callers(*probe);
  if (was_claimed) {
    // Where many were missed the others see it themselves: a heal would be a storm of calls.
    if (!claimed_many()) {
      tell_ring_alive(*probe);
    }
    look_at_claimed(now);
  }
  // A pause, a restart or a departure may have ended what this host had missed.
  if (was_missing || is_isolated_) {
    update_isolation(now);
  }
  return true;
}

void Watch::on_call(Instant now, HostId from, Nonce nonce, const Call& call) {
  SubjectProbe* probe = find(call.subject);
  if (probe == nullptr || probe->generation != call.generation) {
    return;
  }
  const auto& ring = probe->observers;
  const bool is_observer = std::find(ring.begin(), ring.end(), from) != ring.end();
  if (!is_observer && from != call.subject) {
    return;
  }
  if (nonce != Nonce() && is_observer) {
    std::erase_if(probe->callers, [&](const auto& caller) { return caller.first == from; });
    if (probe->callers.size() < kCallersMax) {
      probe->callers.emplace_back(from, nonce);
    }
  }
  if (mutant(MembershipMutant::kRelayedClaimCounted) && is_observer) {
    claim(now, *probe, ClaimKind::kSilent);
    return;
  }
  poke(now, *probe);
}

void Watch::on_veto(Instant now, HostId from, Nonce nonce, const Veto& veto) {
  SubjectProbe* probe = find(veto.subject);
  const bool is_under_nonce = mutant(MembershipMutant::kVetoWithoutNonce) ||
                              (nonce != Nonce() && probe != nullptr && probe->call_nonce == nonce);
  if (probe == nullptr || probe->is_idle() || !is_under_nonce ||
      probe->generation != veto.generation) {
    return;
  }
  const auto& ring = probe->observers;
  if (probe->is_vetoed || std::find(ring.begin(), ring.end(), from) == ring.end()) {
    return;
  }
  probe->is_vetoed = true;
  probe->back_off(now);
  health_.add_fault();
}

void Watch::on_sign_of_life(Instant now, HostId from) {
  SubjectProbe* probe = find(from);
  if (probe != nullptr && probe->claim.has_value()) {
    poke(now, *probe);
  }
}

void Watch::answer_callers(SubjectProbe& probe) {
  for (const auto& [caller, nonce] : probe.callers) {
    output_.messages.push_back({caller, nonce, Veto{probe.subject, probe.generation}});
  }
  probe.callers.clear();
}

// The window.

void Watch::take_sample(SubjectProbe& probe, bool unanswered) {
  if (probe.claim.has_value()) {
    // Rounds of a claimed subject are fast; they would flood the window.
    return;
  }
  probe.sample(unanswered);
  if (!probe.window_claim && probe.window_misses() >= kWindowSet &&
      median_misses_of_others(probe) <= kWindowMedianMax) {
    probe.window_claim = true;
    probe.weak = is_isolated_;
    probe.claimed_at = probe.began;
    emit(Severity::kInfo, "claim", probe.subject, "window");
    accuse(probe, ClaimKind::kSilent);
  } else if (probe.window_claim && probe.window_misses() <= kWindowClear) {
    probe.window_claim = false;
  }
}

int Watch::median_misses_of_others(const SubjectProbe& probe) const {
  std::vector<int> misses;
  for (const SubjectProbe& other : probes_) {
    if (&other != &probe && !other.is_absent) {
      misses.push_back(other.window_misses());
    }
  }
  if (misses.empty()) {
    return 0;
  }
  const auto middle = misses.begin() + static_cast<std::ptrdiff_t>(misses.size() / 2);
  std::nth_element(misses.begin(), middle, misses.end());
  return *middle;
}

// Claims.

void Watch::claim(Instant now, SubjectProbe& probe, ClaimKind kind) {
  const bool is_news = probe.claim != kind || (probe.weak && !is_isolated_);
  if (kind == ClaimKind::kSilent) {
    take_sample(probe, true);
  }
  if (is_news) {
    if (!probe.is_claimed()) {
      probe.claimed_at = now;
    }
    most_claims_ = claims().empty() ? 0 : most_claims_;
    probe.claim = kind;
    probe.weak = is_isolated_;
    most_claims_ = std::max(most_claims_, claims().size());
    emit(Severity::kInfo, "claim", probe.subject,
         kind == ClaimKind::kRefused ? "refused" : "silent");
    accuse(probe, kind);
    if (kind == ClaimKind::kRefused) {
      call_ring(now, probe);
    }
  }
  probe.callers.clear();
  probe.end_round(next_try(now, probe));
}

void Watch::accuse(const SubjectProbe& probe, ClaimKind kind) {
  output_.messages.push_back({probe.subject, Nonce(), Accuse{probe.generation, kind}});
}

void Watch::call_ring(Instant now, SubjectProbe& probe) {
  if (now < probe.call_from || now < probe.patient_until || probe.is_absent) {
    return;
  }
  probe.call_from = now + kCallPeriod;
  probe.call_nonce = Nonce(rng_.next() | 1U);
  for (const HostId& observer : probe.observers) {
    if (observer != self_) {
      output_.messages.push_back(
          {observer, probe.call_nonce, Call{probe.subject, probe.generation}});
    }
  }
}

void Watch::tell_ring_alive(const SubjectProbe& probe) {
  for (const HostId& observer : probe.observers) {
    if (observer != self_) {
      output_.messages.push_back({observer, Nonce(), Call{probe.subject, probe.generation}});
    }
  }
}

std::vector<crdt::Claim> Watch::claims() const {
  std::vector<crdt::Claim> claims;
  for (const SubjectProbe& probe : probes_) {
    if (probe.is_claimed()) {
      claims.push_back(
          {probe.subject, probe.generation, probe.claim.value_or(ClaimKind::kSilent), probe.weak});
    }
  }
  return claims;
}

bool Watch::claimed_many() const {
  return most_claims_ > kClaimsToTell;
}

std::vector<HostId> Watch::subjects() const {
  std::vector<HostId> subjects;
  for (const SubjectProbe& probe : probes_) {
    subjects.push_back(probe.subject);
  }
  return subjects;
}

// Being cut off oneself.

std::size_t Watch::missing_count() const {
  return static_cast<std::size_t>(std::count_if(
      probes_.begin(), probes_.end(),
      [](const SubjectProbe& probe) { return !probe.is_absent && probe.is_missing(); }));
}

std::size_t Watch::present_count() const {
  return static_cast<std::size_t>(std::count_if(
      probes_.begin(), probes_.end(), [](const SubjectProbe& probe) { return !probe.is_absent; }));
}

bool Watch::must_sweep_first(Instant now) const {
  return now < sweep_over_ && missing_count() >= 2 && !mutant(MembershipMutant::kNoSweep);
}

/// At the second missing subject all others are looked at before anybody is accused.
void Watch::consider_sweep(Instant now) {
  if (now - swept_at_ < kSweepPeriod || missing_count() < 2 || mutant(MembershipMutant::kNoSweep)) {
    return;
  }
  swept_at_ = now;
  sweep_over_ = now + health_.stretch(kAttemptTimeout) * kSilentBeforeCall;
  for (SubjectProbe& probe : probes_) {
    poke(now, probe);
  }
}

/// All missing subjects are in one other rack, and a subject in a third one answers: that rack is
/// lost, though most of the subjects of this host happen to be there.
bool Watch::is_one_rack_missing() const {
  std::set<std::string> missing;
  std::set<std::string> present;
  for (const SubjectProbe& probe : probes_) {
    if (!probe.is_absent) {
      (probe.is_missing() ? missing : present).insert(racks_.at(probe.subject));
    }
  }
  if (missing.size() != 1 || missing.contains("")) {
    return false;
  }
  present.erase(*missing.begin());
  present.erase(rack_);
  return !missing.contains(rack_) && !present.empty();
}

void Watch::update_isolation(Instant now) {
  const std::size_t total = present_count();
  const std::size_t missing = missing_count();
  const bool is_cut_off = total >= 2 && missing * 2 > total && !is_one_rack_missing();
  if (is_cut_off == is_isolated_) {
    return;
  }
  is_isolated_ = is_cut_off;
  emit(Severity::kWarn, is_cut_off ? "isolated" : "isolation_over", self_,
       std::to_string(missing) + " of " + std::to_string(total) + " subjects missing");
  for (SubjectProbe& probe : probes_) {
    if (is_cut_off && probe.is_claimed() && now - probe.claimed_at < kRetractAge) {
      probe.weak = true;
    }
  }
}

void Watch::check_invariants() const {
  for (const SubjectProbe& probe : probes_) {
    CHECK(probe.subject != self_);
    CHECK((probe.attempt_at == kNever) != (probe.round_at == kNever));
    CHECK(probe.callers.size() <= kCallersMax);
    CHECK(probe.silent_max > 0);
  }
  const auto by_subject = [](const SubjectProbe& left, const SubjectProbe& right) {
    return left.subject < right.subject;
  };
  CHECK(std::is_sorted(probes_.begin(), probes_.end(), by_subject));
}

void Watch::emit(Severity severity, std::string_view name, HostId about, std::string detail) {
  output_.events.push_back(
      {severity, name, {{"host", about.short_hex()}, {"detail", std::move(detail)}}});
}

}  // namespace muster::membership
