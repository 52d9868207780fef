#include "membership/membership.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/base/state_machine.h"
#include "membership/mutants.h"
#include "membership/observers_left.h"
#include "membership/reflex.h"

namespace muster::membership {
namespace {

static_assert(StateMachine<Membership>);

/// Answers to accusations: at most one round of calls in this time.
constexpr Duration kRefutePeriod = std::chrono::seconds(1);
/// Verdicts come together: suspects are evaluated once for all verdicts of this time.
constexpr Duration kReviewPeriod = std::chrono::milliseconds(10);

/// Hosts without a list for which a list is guessed at a time; each guess looks at all hosts.
constexpr std::size_t kGuessesMax = 256;

/// The end of the next period.
Instant review_time(Instant now) {
  return now - now.time_since_epoch() % kReviewPeriod + 2 * kReviewPeriod;
}

/// The time on the wire, however late the loop came to the message.
Instant arrival_of(Instant now, const MessageReceived& input) {
  return mutant(MembershipMutant::kAckJudgedByLoop) ? now : std::min(now, input.at);
}

/// This host knows who observes it, or knows the fleet well enough to say who should.
bool is_judged(const Member& member, const std::vector<HostId>& own_observers) {
  return member.has_named || !own_observers.empty() || mutant(MembershipMutant::kGuessesJudged);
}

}  // namespace

Membership::Membership(HostId self, AgentStart start, std::string rack, Rng rng, Instant now)
    : self_(self), rng_(rng), watch_(self, rack, rng_.fork()), storm_(now) {
  CHECK(!self.is_zero());
  CHECK(start.generation.value() > 0);
  Member own;
  own.host = self;
  own.start = start;
  own.since = now;
  own.rack = std::move(rack);
  storm_.add_host(own.rack);
  members_.emplace(self, std::move(own));
}

void Membership::step(Instant now, Input input) {
  std::visit([&](const auto& what) { on(now, what); }, input);
  finish(now);
}

void Membership::tick(Instant now) {
  if (next_deadline_ != kNever && now - next_deadline_ > kPauseMax && watch_.may_judge(now)) {
    on(now, Paused{now - next_deadline_});
  }
  watch_.tick(now);
  fire_timers(now);
  if (observers_clock_.is_due(now)) {
    refresh_observers(now);
  }
  if (now >= retry_at_) {
    retry_unreachable(now);
  }
  check_cut_off(now);
  finish(now);
}

Membership::Output Membership::take_output() {
  return std::exchange(output_, {});
}

/// Collects what watching made, publishes own claims that changed, and finds the next deadline.
void Membership::finish(Instant now) {
  publish_claims(now);
  Watch::Output watched = watch_.take_output();
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(output_.messages, watched.messages);
  append(output_.drop_links, watched.drop_links);
  append(output_.events, watched.events);
  update_storm(now);
  next_deadline_ = std::min(
      {watch_.next_deadline(), observers_clock_.deadline(), retry_at_, storm_.next_deadline()});
  if (!timers_.empty()) {
    next_deadline_ = std::min(next_deadline_, timers_.begin()->first);
  }
  if (last_probed_ != kLongAgo && !observers().empty()) {
    next_deadline_ = std::min(next_deadline_, last_probed_ + 2 * probe_period(observers().size()));
  }
}

void Membership::publish_claims(Instant now) {
  std::vector<crdt::Claim> claims = watch_.claims();
  if (claims == published_) {
    return;
  }
  const auto was_said = [this](const crdt::Claim& claim) {
    return std::find(published_.begin(), published_.end(), claim) != published_.end();
  };
  // A step may publish twice. One flag stands for both: it is urgent if either is.
  output_.evidence_may_wait = (!output_.evidence.has_value() || output_.evidence_may_wait) &&
                              watch_.claimed_many() &&
                              std::all_of(claims.begin(), claims.end(), was_said);
  published_ = claims;
  ++overlay_epoch_;
  output_.evidence = claims;
  take_evidence(now, self_, std::move(claims));
}

bool Membership::is_claimed_by_self(HostId host) const {
  return std::any_of(published_.begin(), published_.end(),
                     [host](const crdt::Claim& claim) { return claim.subject == host; });
}

// Rows.

void Membership::on(Instant now, const MemberChanged& input) {
  if (input.host == self_ || input.host.is_zero()) {
    return;
  }
  const auto found = members_.find(input.host);
  const bool is_new = found == members_.end();
  if (is_new && members_.size() >= kMembersMax) {
    return;
  }
  Member& member = is_new ? members_[input.host] : found->second;
  if (input.start.generation < member.start.generation &&
      !mutant(MembershipMutant::kOlderRowAccepted)) {
    return;
  }
  const bool is_restart = !is_new && input.start.generation > member.start.generation;
  const bool is_clone = !is_new && !is_restart && member.start.start_id != StartId() &&
                        member.start.start_id != input.start.start_id;
  const bool was_left = member.left;
  // A host that starts names its observers a little later. Until then those of its last life watch
  // it, or, in its first life, those that this host would name: otherwise nobody would notice that
  // it stopped within that time.
  std::vector<HostId> ring = input.observers;
  if (ring.empty()) {
    ring =
        is_new && !input.left ? propose_observers(input.host, candidates(now)) : member.observers;
  }
  const bool was_in_ring = is_observed_by(member, self_);
  const bool same_ring = member.observers == ring;
  const std::string old_rack = std::exchange(member.rack, input.rack);
  if (!is_new && !was_left && (input.left || old_rack != member.rack)) {
    storm_.on_silence(now, input.host, old_rack, Silence::kNone);
    storm_.drop_host(old_rack);
  }
  if (!input.left && (is_new || was_left || old_rack != member.rack)) {
    storm_.add_host(member.rack);
  }
  member.host = input.host;
  member.start = input.start;
  member.observers = std::move(ring);
  member.has_named = member.has_named || !input.observers.empty();
  member.left = input.left;
  if (is_clone) {
    member.doubled = true;
    emit(Severity::kAlarm, "host_id_doubled", member, "two starts of one generation");
  }
  if (is_new) {
    ++overlay_epoch_;
    member.since = now;
    emit(Severity::kInfo, "member_joined", member, "");
  } else if (is_restart) {
    member.doubled = false;
    emit(Severity::kInfo, "member_restarted", member, "");
    set_state(now, member, MemberState::kAlive, {});
  }
  if (is_new || was_left != member.left || old_rack != member.rack) {
    observers_clock_.want(now);
  }
  output_.changed.push_back(member.host);
  watch_member(now, member);
  overlay_epoch_ += !same_ring && (was_in_ring || is_observed_by(member, self_)) ? 1U : 0U;
  if (member.left && !was_left) {
    take_evidence(now, member.host, {});
  }
  evaluate(now, member);
}

void Membership::watch_member(Instant now, const Member& member) {
  const bool was_watched = watch_.watches(member.host);
  if (!member.left && is_judged(member, observers()) && is_observed_by(member, self_)) {
    watch_.set_subject(now, member.host, member.start.generation, member.observers, member.rack);
  } else {
    watch_.drop_subject(member.host);
  }
  overlay_epoch_ += was_watched == watch_.watches(member.host) ? 0U : 1U;
  CHECK(!member.left || !watch_.watches(member.host));
}

void Membership::on(Instant now, const EvidenceChanged& input) {
  const Member* observer = member(input.observer);
  if (input.observer != self_ && (observer == nullptr || !observer->left)) {
    take_evidence(now, input.observer, input.claims);
  }
}

void Membership::take_evidence(Instant now, HostId observer, std::vector<crdt::Claim> claims) {
  storm_.on_isolated(observer, std::any_of(claims.begin(), claims.end(),
                                           [](const crdt::Claim& claim) { return claim.weak; }));
  for (const HostId& subject : evidence_.replace(now, observer, std::move(claims))) {
    if (const auto found = members_.find(subject); found != members_.end()) {
      evaluate(now, found->second);
    }
  }
}

void Membership::on(Instant, const OwnVersion& input) {
  own_sequence_ = input.sequence;
}

// Messages and links.

void Membership::on(Instant now, const MessageReceived& input) {
  if (input.from == self_) {
    return;
  }
  ask_if_newer(input.from, input.generation);
  if (const auto* probe = std::get_if<Probe>(&input.body); probe != nullptr) {
    on_probe(now, input);
  } else if (const auto* ack = std::get_if<Ack>(&input.body); ack != nullptr) {
    output_.heard.push_back({input.from, {input.generation, ack->row_sequence}});
    if (watch_.on_ack(now, arrival_of(now, input), input.from, input.nonce, *ack)) {
      return;
    }
  } else if (const auto* call = std::get_if<Call>(&input.body); call != nullptr) {
    watch_.on_call(now, input.from, input.nonce, *call);
  } else if (const auto* veto = std::get_if<Veto>(&input.body); veto != nullptr) {
    watch_.on_veto(now, input.from, input.nonce, *veto);
  } else if (const auto* accuse = std::get_if<Accuse>(&input.body); accuse != nullptr) {
    on_accuse(now, *accuse);
  }
  watch_.on_sign_of_life(now, input.from);
}

/// A later start counts once the host's own row says so, never by what one message claims.
void Membership::ask_if_newer(HostId host, Generation generation) {
  const Member* known = member(host);
  if (known != nullptr && generation > known->start.generation) {
    output_.heard.push_back({host, {generation, Sequence()}});
  }
}

void Membership::on_probe(Instant now, const MessageReceived& input) {
  const auto& own = observers();
  if (std::binary_search(own.begin(), own.end(), input.from)) {
    last_probed_ = std::max(last_probed_, arrival_of(now, input));
  }
  if (!input.is_answered) {
    const Ack ack{probe_me_next(now, own, input.from), own_sequence_};
    output_.messages.push_back({input.from, input.nonce, ack, true});
  }
}

/// An observer claims that this host is gone: all its observers shall look now.
void Membership::on_accuse(Instant now, const Accuse& accuse) {
  const Member& own = *member(self_);
  if (accuse.generation != own.start.generation || now - last_accused_ < kRefutePeriod) {
    return;
  }
  last_accused_ = now;
  watch_.add_fault();
  for (const HostId& observer : own.observers) {
    output_.messages.push_back({observer, Nonce(), Call{self_, own.start.generation}});
  }
}

void Membership::on(Instant now, const LinkLost& input) {
  watch_.on_link_lost(now, input.host, input.loss);
}

void Membership::on(Instant now, const Paused& input) {
  if (input.duration > kPauseMax) {
    watch_.paused(now);
    last_probed_ = last_probed_ == kLongAgo ? kLongAgo : now;
  }
}

// Verdicts.

void Membership::evaluate(Instant now, Member& member) {
  if (member.host == self_) {
    return;
  }
  if (member.left) {
    set_state(now, member, MemberState::kLeft, {});
    return;
  }
  if (member.state == MemberState::kLeft) {
    set_state(now, member, MemberState::kAlive, {});
  }
  judge(now, member, evidence_.tally(member.host, member.start.generation, member.observers));
  if (member.state == MemberState::kUnreachable && now - member.since >= kAbsentAfter) {
    watch_.set_absent(member.host, true);
    observers_clock_.want(now);
  }
}

void Membership::judge(Instant now, Member& member, const Tally& tally) {
  if (member.state == MemberState::kAlive && !is_judged(member, observers())) {
    return;
  }
  const std::size_t voices = mutant(MembershipMutant::kMovingDenominator)
                                 ? ring_of(member).observers.size()
                                 : member.observers.size();
  const std::size_t claims = tally.strong + tally.weak;
  const bool is_suspicion = claims > 0 && claims >= suspect_threshold(voices);
  const bool is_full = voices > 0 && tally.strong >= verdict_threshold(voices);
  member.reduced_steps = is_full ? 0 : member.reduced_steps;
  const bool is_new = is_suspicion && member.state != MemberState::kUnreachable;
  // Behind a cut the claims of its far side arrive before they are taken back, and a host that
  // has just started knows no others than those on its disk. Few hosts all watch all.
  const bool is_young = now - members_.at(self_).since < kStormHold;
  const bool is_held = is_full && is_new && members_.size() > kWatchAllHostsMax &&
                       (storm_.mode() == StormMode::kPartitionSuspected || is_young) &&
                       !mutant(MembershipMutant::kNoStormHold);
  member.claimed.by_all_needed = is_held ? std::min(member.claimed.by_all_needed, now) : kNever;
  if (is_held && now - member.claimed.by_all_needed < kStormHold) {
    timers_.insert({member.claimed.by_all_needed + kStormHold, member.host});
    set_state(now, member, MemberState::kSuspect, tally);
  } else if (is_full || (is_new && is_judged_by_those_left(now, member))) {
    set_state(now, member, MemberState::kUnreachable, tally);
  } else if (member.state == MemberState::kUnreachable) {
    if (is_suspicion) {
      member.below_since = kNever;
    } else {
      consider_clearing(now, member, tally);
    }
  } else {
    set_state(now, member, is_suspicion ? MemberState::kSuspect : MemberState::kAlive, tally);
  }
  if (member.state == MemberState::kSuspect) {
    storm_.on_silence(now, member.host, member.rack, silence_of(member));
  }
}

/// Only in NORMAL and DOMAIN, and once the agreement lasted kReducedHold.
bool Membership::is_judged_by_those_left(Instant now, Member& member) {
  const Instant since = std::exchange(member.claimed.by_those_left, kNever);
  const int steps =
      storm_.mode() > StormMode::kDomain
          ? 0
          : steps_of_those_left(member, evidence_, [this](HostId id) { return this->member(id); });
  if (steps == 0) {
    return false;
  }
  member.claimed.by_those_left = std::min(since, now);
  if (now - member.claimed.by_those_left < kReducedHold) {
    timers_.insert({member.claimed.by_those_left + kReducedHold, member.host});
    return false;
  }
  member.reduced_steps = steps;
  return true;
}

void Membership::consider_clearing(Instant now, Member& member, const Tally& tally) {
  member.below_since = std::min(member.below_since, now);
  const bool is_storm = storm_.mode() > StormMode::kDomain;
  const Instant clear_at = member.below_since + clear_hold(member, is_storm);
  if (now >= clear_at) {
    set_state(now, member, MemberState::kAlive, tally);
  } else {
    timers_.insert({clear_at, member.host});
  }
}

void Membership::set_state(Instant now, Member& member, MemberState state, const Tally& tally) {
  const MemberState before = member.state;
  const crdt::ClaimKind kind = tally.kind();
  member.below_since = kNever;
  const bool is_lasting = state == MemberState::kUnreachable || state == MemberState::kSuspect;
  if (before == state && (kind == member.kind || !is_lasting)) {
    return;
  }
  member.kind = kind;
  if (before == state && state == MemberState::kSuspect) {
    return;
  }
  output_.changed.push_back(member.host);
  const std::string claims =
      std::to_string(tally.strong + tally.weak) + "/" + std::to_string(member.observers.size());
  if (before != state) {
    member.since = now;
    watch_.set_absent(member.host, false);
    observers_clock_.want(now);
  }
  const bool is_overlay =
      before != state &&
      (is_out(before) != is_out(state) || observes_any(member.host, {self_}, members_) ||
       observes_any(member.host, watch_.subjects(), members_));
  overlay_epoch_ += is_overlay ? 1U : 0U;
  member.state = state;
  member.claimed.by_those_left =
      state == MemberState::kSuspect ? member.claimed.by_those_left : kNever;
  if (!member.left) {
    storm_.on_silence(now, member.host, member.rack, silence_of(member));
    if (before == MemberState::kAlive && silence_of(member) != Silence::kNone) {
      storm_.on_sudden_silence(now, member.host);
    }
  }
  switch (state) {
    case MemberState::kAlive:
      emit(Severity::kInfo, "alive_again", member, claims);
      break;
    case MemberState::kSuspect:
      emit(Severity::kInfo, "suspect", member, claims);
      break;
    case MemberState::kUnreachable:
      emit(Severity::kWarn, "unreachable", member, claims);
      if (before != state) {
        note_verdict(now, member, storm_.mode() != StormMode::kNormal);
      }
      timers_.insert({review_time(now), self_});
      timers_.insert({now + kAbsentAfter, member.host});
      retry_at_ = std::min(retry_at_, now + rng_.between(Duration(0), kRetryPeriod));
      break;
    case MemberState::kLeft:
      emit(Severity::kInfo, "member_left", member, "");
      break;
  }
}

void Membership::update_storm(Instant now) {
  if (storm_.is_quiet() && !watch_.is_isolated()) {
    return;
  }
  storm_.on_own_subjects(watch_.missing_count(), watch_.present_count(), watch_.is_isolated());
  const StormMode before = storm_.mode();
  if (!storm_.update(now)) {
    return;
  }
  const StormStatus status = storm_.status();
  output_.events.push_back({status.mode == StormMode::kNormal ? Severity::kInfo : Severity::kWarn,
                            "storm_mode",
                            {{"mode", std::string(name_of(status.mode))},
                             {"was", std::string(name_of(before))},
                             {"reason", status.reason}}});
  timers_.insert({review_time(now), self_});
}

void Membership::fire_timers(Instant now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const HostId host = timers_.begin()->second;
    timers_.erase(timers_.begin());
    if (host == self_) {
      // The mode or a verdict about an observer changed: the observers left may now judge.
      for (auto& [id, member] : members_) {
        if (member.state == MemberState::kSuspect && storm_.mode() <= StormMode::kDomain) {
          evaluate(now, member);
        }
      }
    } else if (const auto found = members_.find(host); found != members_.end()) {
      evaluate(now, found->second);
    }
  }
}

// The own row, and keeping in touch.

std::vector<Candidate> Membership::candidates(Instant now) const {
  std::vector<Candidate> candidates;
  for (const auto& [host, member] : members_) {
    const bool is_absent =
        member.state == MemberState::kUnreachable && now - member.since >= kAbsentAfter;
    if (!member.left && !is_absent) {
      candidates.push_back({host, member.rack});
    }
  }
  return candidates;
}

void Membership::refresh_observers(Instant now) {
  observers_clock_.chosen();
  std::vector<HostId> chosen = propose_observers(self_, candidates(now));
  Member& own = members_.at(self_);
  if (chosen != own.observers) {
    ++overlay_epoch_;
    observers_clock_.changed(now);
    own.observers = chosen;
    output_.observers = std::move(chosen);
    output_.changed.push_back(self_);
    propose_for_others(now);
  }
}

/// For those that have named nobody yet: this host knows the fleet better than it did.
void Membership::propose_for_others(Instant now) {
  const std::vector<Candidate> all = candidates(now);
  std::size_t guesses = 0;
  for (auto& [host, member] : members_) {
    if (host != self_ && !member.has_named && !member.left && guesses < kGuessesMax) {
      ++guesses;
      member.observers = propose_observers(host, all);
      ++overlay_epoch_;
      output_.changed.push_back(host);
      watch_member(now, member);
      evaluate(now, member);
    }
  }
}

void Membership::retry_unreachable(Instant now) {
  retry_at_ = kNever;
  std::vector<HostId> lost;
  bool is_any_lost = false;
  for (const auto& [host, member] : members_) {
    const bool is_lost = member.state == MemberState::kUnreachable;
    is_any_lost = is_any_lost || is_lost;
    if (is_lost && !watch_.watches(host)) {
      lost.push_back(host);
    }
  }
  if (!is_any_lost) {
    return;
  }
  retry_at_ = now + kRetryPeriod;
  if (!lost.empty()) {
    // No answer is expected: a link that comes up lets both sides compare their rows.
    const HostId host = lost[rng_.below(lost.size())];
    output_.drop_links.push_back(host);
    output_.messages.push_back({host, Nonce(rng_.next() | 1U), Probe{}});
  }
}

void Membership::check_cut_off(Instant now) {
  const Duration patience = 2 * probe_period(observers().size());
  if (last_probed_ == kLongAgo || observers().empty() || now - last_probed_ < patience) {
    return;
  }
  last_probed_ = kLongAgo;
  emit(Severity::kWarn, "possibly_cut_off", *member(self_), "no observer probed us");
}

// Queries.

const Member* Membership::member(HostId host) const {
  return recent_.find(members_, host);
}

std::vector<Accusation> Membership::accusations(HostId subject) const {
  const Member* found = member(subject);
  if (found == nullptr) {
    return {};
  }
  return evidence_.accusations(subject, found->start.generation, found->observers);
}

const std::vector<HostId>& Membership::observers() const {
  return member(self_)->observers;
}

gossip::Ring Membership::ring_of(const Member& subject) const {
  return membership::ring_of(
      subject, [this](HostId host) { return member(host); },
      [this](HostId host) { return is_claimed_by_self(host); });
}

gossip::OverlayView Membership::overlay() const {
  return overlay_of(self_, members_, [this](const Member& subject) { return ring_of(subject); });
}

void Membership::check_invariants() const {
  watch_.check_invariants();
  storm_.check_invariants();
  CHECK(members_.size() <= kMembersMax);
  const Member& own = *member(self_);
  CHECK(own.state == MemberState::kAlive);
  CHECK(std::is_sorted(own.observers.begin(), own.observers.end()));
  CHECK(published_ == watch_.claims());
}

void Membership::emit(Severity severity, std::string_view name, const Member& about,
                      std::string detail) {
  Event event{severity,
              name,
              {{"host", about.host.short_hex()},
               {"generation", std::to_string(about.start.generation.value())}}};
  if (about.state != MemberState::kAlive) {
    event.fields.emplace_back("kind", name_of(about.kind));
  }
  if (!detail.empty()) {
    event.fields.emplace_back("detail", std::move(detail));
  }
  output_.events.push_back(std::move(event));
}

}  // namespace muster::membership
