#include "scheduler/leader/scheduler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "gossip/base/check.h"
#include "gossip/base/overloaded.h"
#include "gossip/base/state_machine.h"
#include "scheduler/leader/hello_entry.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

/// For the planted bug alone: a Stop for each grant that is named and not in the log here.
std::vector<Stop> ends_of_unknown(const State& state, const AgentMessage& message) {
  std::vector<Stop> ends;
  if (const auto* renew = std::get_if<Renew>(&message)) {
    for (const Token& token : renew->tokens) {
      if (state.attempt(token) == nullptr) {
        ends.push_back({token, renew->start, Duration::zero(), "over"});
      }
    }
  } else if (const auto* hello = std::get_if<Hello>(&message)) {
    for (const GrantReport& grant : hello->grants) {
      if (is_live_grant(grant.state) && state.attempt(grant.token) == nullptr) {
        ends.push_back({grant.token, hello->start, Duration::zero(), "over"});
      }
    }
  }
  return ends;
}

}  // namespace

static_assert(StateMachine<Scheduler>);

Scheduler::Scheduler(SchedulerConfig config, State state, Instant now)
    : config_(std::move(config)),
      state_(std::move(state)),
      expire_timers_(config_.expire_margin),
      capacity_(state_),
      pending_(state_) {
  CHECK(config_.validate().has_value());
  run_times_.rebuild(state_);
  expire_timers_.rebuild(now, state_);
}

void Scheduler::step(Instant now, Input input) {
  if (halted_) {
    ++dropped_;
    return;
  }
  std::visit(Overloaded{[&](input::Applied& fact) { on_applied(now, fact); },
                        [&](input::Restored& fact) { on_restored(now, fact); },
                        [&](input::LeadershipChanged& fact) { on_leadership_changed(now, fact); },
                        [&](input::AgentMessageReceived& fact) { on_agent_message(now, fact); },
                        [&](input::HostViewChanged& fact) { on_host_view_changed(now, fact); },
                        [&](input::StormChanged& fact) { on_storm_changed(now, fact); },
                        [&](input::VotersQuiet& fact) { on_voters_quiet(now, fact); },
                        [&](const input::WallClockSet& fact) {
                          wall_clock_ = WallClock(now, fact.unix_ms);
                        },
                        [&](input::MajorityRound& fact) { on_majority_round(now, fact); },
                        [&](input::ClientSubmit& fact) { on_submit(now, fact); },
                        [&](input::ClientOrder& fact) { on_order(now, fact); },
                        [&](const input::RollMet& fact) {
                          if (leader_.has_value()) {
                            leader_->on_roll_met(step(now), fact);
                          }
                        },
                        [&](const input::NotesMet& fact) {
                          if (leader_.has_value()) {
                            leader_->on_notes_met(step(now), fact);
                          }
                        }},
             input);
  if (leader_.has_value()) {
    leader_->decide(step(now));
  }
}

void Scheduler::tick(Instant now) {
  if (leader_.has_value()) {
    leader_->tick(step(now));
    leader_->decide(step(now));
  }
}

Instant Scheduler::next_deadline() const {
  return leader_.has_value() ? leader_->next_deadline(config_, state_) : kNever;
}

Scheduler::Output Scheduler::take_output() {
  Output output = std::move(output_);
  output_ = Output();
  return output;
}

void Scheduler::check_invariants() const {
  CHECK(!halted_ || !leader_.has_value());
  if (leader_.has_value()) {
    leader_->check_invariants();
  }
  seen_.check_invariants();
  state_.check_invariants();
  // One host after the other, as entries are applied.
  CHECK(capacity_.is_right(state_, state_.applied().value()));
}

void Scheduler::check_everything() const {
  state_.check_everything();
  CHECK(capacity_.is_right(state_));
  CHECK(pending_.is_right(state_));
}

void Scheduler::on_applied(Instant now, input::Applied& fact) {
  if (fact.index <= state_.applied()) {
    ++dropped_;  // Part of the snapshot already.
    return;
  }
  if (fact.bytes.empty()) {
    state_.skip(fact.index);
    return;
  }
  Result<LoggedEntry> logged = decode_entry(std::move(fact.bytes));
  if (!logged) {
    halted_ = true;
    output_.halted = logged.error().text;
    output_.emit(Severity::kAlarm, "log_entry_unknown",
                 {{"index", std::to_string(fact.index.value())}, {"why", logged.error().text}});
    lose_leadership();
    return;
  }
  ApplyResult result = state_.apply(fact.index, std::move(logged->entry), logged->unix_ms,
                                    config_.verifier.get(), fact.voters);
  const Entry& entry = logged->entry;  // Without the parts that the state took.
  for (Event& event : result.events) {
    output_.events.push_back(std::move(event));
  }
  output_.roll.add(result.roll);
  for (const HostId& host : result.hosts_changed) {
    capacity_.on_changed(state_, host);
    pending_.on_host(state_, host);
  }
  for (const HostId& host : result.holdings_changed) {
    capacity_.on_held(state_, host);
  }
  if (result.usual_changed) {
    capacity_.on_usual(state_);
  }
  note_pending(result);
  Instant due = kNever;
  for (const Token& token : result.touched) {
    due = std::min(due, expire_timers_.on_touched(now, state_, token));
    run_times_.on_touched(state_, token);
  }
  if (leader_.has_value()) {
    leader_->on_timer_begun(due);
    leader_->on_applied(step(now), entry, result);
  }
}

/// The queues, shares and jobs that changed, in the order of jobs that wait.
void Scheduler::note_pending(const ApplyResult& result) {
  if (result.queues_changed) {
    pending_.on_queues(state_);
    return;
  }
  for (const AttemptShare& share : result.shares_changed) {
    pending_.on_share(state_, share);
  }
  if (result.credits_changed) {
    pending_.on_credits(state_);
  }
  for (const JobId job : result.jobs_moved) {
    pending_.on_changed(state_, job);
  }
}

void Scheduler::on_restored(Instant now, input::Restored& fact) {
  lose_leadership();
  state_ = std::move(fact.state);
  capacity_.rebuild(state_);
  pending_.rebuild(state_);
  run_times_.rebuild(state_);
  expire_timers_.rebuild(now, state_);
  for (const auto& [host, record] : state_.roll().hosts()) {
    output_.roll.enrolled.push_back(host);
  }
  output_.roll.tickets = true;
  output_.roll.authority = true;
}

void Scheduler::on_leadership_changed(Instant now, const input::LeadershipChanged& fact) {
  const bool is_confirmed = fact.leads && fact.own_term_applied;
  if (!is_confirmed) {
    lose_leadership();
  }
  if (!is_confirmed || leader_.has_value()) {
    return;
  }
  output_.emit(Severity::kInfo, "scheduler_leads",
               {{"applied", std::to_string(state_.applied().value())},
                {"attempts", std::to_string(state_.live().size())}});
  leader_.emplace(step(now), last_round_);
}

void Scheduler::lose_leadership() {
  if (!leader_.has_value()) {
    return;
  }
  leader_->give_up(output_);
  CHECK(leader_->last_round() >= last_round_);
  last_round_ = leader_->last_round();
  dropped_ += leader_->dropped_count();
  leader_.reset();
  capacity_.forget_leader(state_);
  pending_.forget_leader();
}

void Scheduler::on_agent_message(Instant now, input::AgentMessageReceived& fact) {
  if (mutant(SchedulerMutant::kKillFromStaleLeader)) {
    for (Stop& stop : ends_of_unknown(state_, fact.message)) {
      output_.say(fact.from, Nonce(), std::move(stop));
    }
  }
  if (leader_.has_value()) {
    leader_->on_agent_message(step(now), fact);
  } else {
    ++dropped_;  // Agents repeat; only a confirmed leader may answer.
  }
}

void Scheduler::on_host_view_changed(Instant now, input::HostViewChanged& fact) {
  const HostId host = fact.view.host;
  seen_.on_view(now, std::move(fact.view));
  if (leader_.has_value()) {
    leader_->on_host_view(step(now), host);
  }
}

void Scheduler::on_storm_changed(Instant now, const input::StormChanged& fact) {
  seen_.on_storm(fact.mode);
  if (leader_.has_value()) {
    leader_->on_storm(now);
  }
}

void Scheduler::on_voters_quiet(Instant now, const input::VotersQuiet& fact) {
  seen_.on_voters_quiet(fact);
  if (leader_.has_value()) {
    leader_->on_voters_quiet(now);
  }
}

void Scheduler::on_majority_round(Instant now, const input::MajorityRound& fact) {
  if (leader_.has_value()) {
    leader_->on_majority_round(step(now), fact.context);
  } else {
    ++dropped_;
  }
}

void Scheduler::on_submit(Instant now, input::ClientSubmit& fact) {
  if (leader_.has_value()) {
    leader_->on_submit(step(now), fact);
  } else {
    output_.refuse(fact.request, ErrorCode::kUnavailable, "this node does not lead the quorum");
  }
}

void Scheduler::on_order(Instant now, input::ClientOrder& fact) {
  if (leader_.has_value()) {
    leader_->on_order(step(now), fact);
  } else {
    output_.refuse(fact.request, ErrorCode::kUnavailable, std::string(kNoOrdersNow));
  }
}

}  // namespace muster::scheduler
