#include "scheduler/leader/scheduler.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/base/state_machine.h"

namespace muster::scheduler {

static_assert(StateMachine<Scheduler>);

Scheduler::Scheduler(SchedulerConfig config, State state, Instant now)
    : config_(config),
      state_(std::move(state)),
      ready_since_(now),
      last_tick_(now),
      expire_timers_(config.expire_margin),
      clients_(now) {
  CHECK(config_.validate().has_value());
  expire_timers_.begin_anew(now, state_);
}

void Scheduler::step(Instant now, Input input) {
  if (halted_) {
    ++dropped_;
    return;
  }
  std::visit([&](auto& fact) { on(now, fact); }, input);
  decide(now);
}

void Scheduler::tick(Instant now) {
  if (halted_ || !is_ready()) {
    return;
  }
  if (round_asked_.has_value() && now >= *round_asked_ + config_.round_again) {
    // The waiters of the lost round join those of the next: it begins later than their receipt.
    waiting_.insert(waiting_.begin(), in_round_.begin(), in_round_.end());
    in_round_.clear();
    round_asked_.reset();
    ask_round(now);
  }
  resends_.say_due(turn(now));
  decide(now);
}

Instant Scheduler::next_deadline() const {
  if (halted_ || !is_ready()) {
    return kNever;
  }
  Instant next = std::min({wake_, proposals_.next_look(), resends_.next_deadline()});
  if (round_asked_.has_value()) {
    next = std::min(next, *round_asked_ + config_.round_again);
  }
  if (state_.needs_time()) {
    next = std::min(next, std::max(last_tick_ + config_.tick_every,
                                   proposals_.free_at(proposal_name(entry::Tick()))));
  }
  return next;
}

Scheduler::Output Scheduler::take_output() {
  Output output = std::move(output_);
  output_ = Output();
  return output;
}

void Scheduler::check_invariants() const {
  resends_.check_invariants();
  clients_.check_invariants();
  CHECK(round_asked_.has_value() || in_round_.empty());
  seen_.check_invariants();
  state_.check_invariants();
}

void Scheduler::on(Instant now, input::Applied& fact) {
  if (fact.index <= state_.applied()) {
    ++dropped_;  // Part of the snapshot already.
    return;
  }
  if (fact.bytes.empty()) {
    state_.skip(fact.index);
    return;
  }
  const Result<Entry> entry = decode_entry(std::move(fact.bytes));
  if (!entry) {
    halted_ = true;
    output_.halted = entry.error().text;
    output_.emit(Severity::kAlarm, "log_entry_unknown",
         {{"index", std::to_string(fact.index.value())}, {"why", entry.error().text}});
    lose_leadership();
    return;
  }
  ApplyResult result = state_.apply(fact.index, *entry);
  for (Event& event : result.events) {
    output_.events.push_back(std::move(event));
  }
  for (const Token& token : result.touched) {
    wake_at(expire_timers_.on_touched(now, state_, token));
  }
  if (is_ready()) {
    follow_applied(now, *entry, result);
  }
}

void Scheduler::follow_applied(Instant now, const Entry& entry, const ApplyResult& result) {
  proposals_.on_applied(entry);
  placing_wanted_ = placing_wanted_ || result.capacity_changed;
  for (const Token& token : result.touched) {
    unjudged_.insert(token);
    drive(now, token);
  }
  clients_.on_applied(entry, result, output_);
  if (const auto* registered = std::get_if<entry::Register>(&entry)) {
    unobserved_.insert(registered->host);
    const auto waiter = hellos_.find(registered->host);
    // A later start's hello waits for its own Register.
    if (waiter != hellos_.end() &&
        std::get<Hello>(waiter->second.message).start.generation <= registered->start.generation) {
      wait_for_round(std::move(waiter->second));
      ask_round(now);
      hellos_.erase(waiter);
    }
  } else if (const auto* observed = std::get_if<entry::Observe>(&entry)) {
    unobserved_.insert(observed->host);
    wake_at(now);
  } else if (const auto* finished = std::get_if<entry::Finish>(&entry)) {
    acknowledge(*finished);
  } else if (std::holds_alternative<entry::Tick>(entry)) {
    wake_at(now);
  } else if (std::holds_alternative<entry::Decide>(entry)) {
    placing_wanted_ = true;
  }
}

void Scheduler::on(Instant now, input::Restored& fact) {
  lose_leadership();
  leads_ = false;
  own_term_applied_ = false;
  state_ = std::move(fact.state);
  expire_timers_.begin_anew(now, state_);
}

void Scheduler::on(Instant now, input::LeadershipChanged& fact) {
  const bool was_ready = is_ready();
  if (was_ready && !(fact.leads && fact.own_term_applied)) {
    lose_leadership();
  }
  leads_ = fact.leads;
  own_term_applied_ = fact.leads && fact.own_term_applied;
  if (was_ready || !is_ready()) {
    return;
  }
  clients_ = ClientLedger(now);
  ready_since_ = now;
  last_tick_ = now;
  placing_wanted_ = true;
  for (const auto& [host, record] : state_.hosts()) {
    unobserved_.insert(host);
  }
  wake_at(now);
  output_.emit(Severity::kInfo, "scheduler_leads",
       {{"applied", std::to_string(state_.applied().value())},
        {"attempts", std::to_string(state_.live().size())}});
  drive_all(now);
}

void Scheduler::lose_leadership() {
  clients_.give_up(output_);
  refused_hellos_.clear();
  proposals_ = Proposals();
  unobserved_.clear();
  unjudged_.clear();
  reserved_since_.clear();
  resends_ = Resends();
  renewed_at_.clear();
  waiting_.clear();
  in_round_.clear();
  round_asked_.reset();
  hellos_.clear();
  finish_nonces_.clear();
  placing_wanted_ = false;
  wake_ = kNever;
  leads_ = false;
  own_term_applied_ = false;
}

void Scheduler::on(Instant now, input::HostViewChanged& fact) {
  const HostId host = fact.view.host;
  seen_.on_view(now, std::move(fact.view));
  if (is_ready()) {
    unobserved_.insert(host);
  }
}

void Scheduler::on(Instant now, input::StormChanged& fact) {
  seen_.on_storm(fact.suspected);
  wake_at(now);
}

void Scheduler::on(Instant now, input::VotersQuiet& fact) {
  seen_.on_voters_quiet(fact);
  wake_at(now);
  placing_wanted_ = placing_wanted_ || is_ready();
}

void Scheduler::drive_all(Instant now) {
  for (const Token& token : state_.live()) {
    unjudged_.insert(token);
    drive(now, token);
  }
}

void Scheduler::drive(Instant now, const Token& token) {
  const Attempt* attempt = state_.attempt(token);
  bool was_reserved = false;
  if (attempt != nullptr && attempt->state == AttemptState::kReserved) {
    reserved_since_.try_emplace(token, now);
  } else {
    was_reserved = reserved_since_.erase(token) != 0;
  }
  resends_.on_touched(turn(now), token, was_reserved);
}

void Scheduler::on(Instant now, input::ClientSubmit& fact) {
  if (is_ready()) {
    clients_.on_submit(turn(now), proposals_, fact);
  } else {
    output_.refuse(fact.request, ErrorCode::kUnavailable, "this node does not lead the quorum");
  }
}

void Scheduler::on(Instant now, input::ClientOrder& fact) {
  if (is_ready()) {
    clients_.on_order(turn(now), fact);
  } else {
    output_.refuse(fact.request, ErrorCode::kUnavailable, std::string(kNoOrdersNow));
  }
}

}  // namespace muster::scheduler
