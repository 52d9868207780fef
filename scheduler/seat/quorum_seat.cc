#include "scheduler/seat/quorum_seat.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "gossip/base/check.h"
#include "gossip/base/overloaded.h"
#include "gossip/base/state_machine.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/first_quorum_messages.h"
#include "scheduler/seat/log_gate.h"
#include "scheduler/seat/seat_messages.h"

namespace muster::scheduler {

static_assert(StateMachine<QuorumSeat>);

namespace {

/// The machines of a seat answer each other at most this often in one step.
constexpr int kSeatRoundsMax = 64;

/// A host with a seat id was never a founder, or is one no more: its cluster exists.
FirstQuorum::Config first_quorum_config(const SeatOptions& options,
                                        const crdt::Records& raft_records) {
  FirstQuorum::Config config;
  if (recover_log(raft_records).value().seat != SeatId()) {
    return config;
  }
  config.expect = options.founders;
  config.founder_count = options.founders;
  if (!config.validate()) {
    config = {};  // No authority says so: here it means join only.
  }
  return config;
}

void append(std::vector<Event>& events, std::vector<Event> more) {
  std::move(more.begin(), more.end(), std::back_inserter(events));
}

}  // namespace

QuorumSeat::QuorumSeat(const SeatOptions& options, const crdt::Records& raft_records, Rng rng,
                       Instant now)
    : options_(options),
      rng_(rng),
      first_quorum_(first_quorum_config(options, raft_records), options.self, rng_.fork(),
                    recover_quorum(raft_records).value(), now),
      scheduler_({.verifier = options.verifier}, State(), now),
      known_(options.self),
      log_(options.compact_entries) {
  if (first_quorum_.formed().has_value()) {
    output_.fate.formed = first_quorum_.formed()->cluster;  // Its own record may have been lost.
  }
  RecoveredLog log = recover_log(raft_records).value();
  scheduler_.step(now, input::WallClockSet{options.unix_ms});
  known_.begin_epoch(log.epoch);
  log.must_compare = !mutant(SchedulerMutant::kDiskNotCompared);
  if (!log.snapshot.configuration.voters.empty() || log.seat != SeatId()) {
    take_seat(now, std::move(log));
    pump(now);
  }
}

void QuorumSeat::step(Instant now, Input fact) {
  const auto to_raft = [&](Raft::Input each) {
    raft_->step(now, std::move(each));
    return true;
  };
  const Overloaded hear{
      [&](input::MessageReceived& each) { return on_received(now, each); },
      [&](const input::Persisted& each) { return on_persisted(now, each.id); },
      [&](input::AgentMessageReceived& each) { return on_agent_message(now, each); },
      [&](const input::LinkReset& each) {
        return raft_.has_value() && to_raft(Raft::LeaderLinkReset{each.host});
      },
      [&](FirstQuorum::FoundersKnown& each) {
        first_quorum_.step(now, std::move(each));
        return true;
      },
      [&](input::HostViewChanged& each) {
        scheduler_.step(now, std::move(each));
        return true;
      },
      [&](const input::StormChanged& each) {
        scheduler_.step(now, each);
        keeper_.storm_changed(each.mode);
        return true;
      },
      [&](const input::WallClockSet& each) {
        scheduler_.step(now, each);
        return true;
      },
      [&](const input::OwnDiskLate&) {
        pace_.own_disk_is_late(now, *raft_);
        return true;
      },
      [&](const input::QuorumHeard& each) {
        known_.hear(each.view);
        return false;
      },
      [&](input::ClientSubmit& each) { return on_submit(now, each); },
      [&](input::ClientOrder& each) { return on_order(now, each); },
      [&](input::RollMet& each) { return on_roll_met(now, each); },
      [&](input::NotesMet& each) {
        return leads() && why_not_taken(now, *raft_, state(), EntryKind::kNoteRequests).empty() &&
               (scheduler_.step(now, std::move(each)), true);  // Else the batch comes again.
      },
      [&](const input::GiveWay&) { return leads() && to_raft(Raft::Transfer{}); },
      [&](const input::ChangeQuorum& each) {
        CHECK(raft_.has_value());
        keeper_.wish(now, *raft_, each.request, each.action, each.host);
        return true;
      },
      [&](const input::HostsSeen& each) {
        CHECK(raft_.has_value());
        keeper_.look(now, *raft_, each.hosts);
        return true;
      },
      [&](const input::Read& each) {
        CHECK(raft_.has_value());
        return to_raft(Raft::Read{reads_.begin({true, each.request})});
      },
      [&](const input::EpochMet& each) { return on_epoch_met(now, each.epoch); },
      [&](input::Recover& each) { return on_recover(now, std::move(each.log)); },
  };
  if (std::visit(hear, fact)) {
    pump(now);
  }
}

bool QuorumSeat::hears(const SeatMessage& message) const {
  const auto* raft_message = std::get_if<RaftMessage>(&message);
  return raft_message == nullptr || raft_.has_value() ||
         (!gives_seat_up_ && is_invitation(*raft_message));
}

bool QuorumSeat::on_received(Instant now, input::MessageReceived& fact) {
  if (!hears(fact.message)) {
    return false;
  }
  if (auto* raft_message = std::get_if<RaftMessage>(&fact.message)) {
    hear_raft(now, fact.from, std::move(*raft_message));
  } else {
    first_quorum_.step(
        now, FirstQuorum::PeerMessage{fact.from, std::get<QuorumMessage>(std::move(fact.message))});
  }
  return true;
}

void QuorumSeat::hear_raft(Instant now, HostId from, RaftMessage message) {
  if (!raft_.has_value()) {
    take_new_seat(now);
  }
  std::optional<LogIndex> told;
  if (const auto* append = std::get_if<AppendRequest>(&message)) {
    told = std::max(append->commit, append->committed);
    log_.tell_commit(*told);
  }
  if (const Seat* voter = raft_->log().configuration().voter(from);
      voter != nullptr && is_from_seat(message, voter->id)) {
    contact_.hear_voter(now, from);
  }
  raft_->step(now, Raft::PeerMessage{from, std::move(message)});
  if (from == raft_->leader()) {
    // A new leader knows what its predecessor had committed once an entry of its own is.
    const bool is_current = told.has_value() && raft_->commit() >= *told &&
                            raft_->log().term_at(raft_->commit()) == raft_->term();
    contact_.hear_leader(now, is_current);
  }
}

bool QuorumSeat::on_persisted(Instant now, std::uint64_t id) {
  using Machine = SeatWrites::Machine;
  const SeatWrites::Owner owner = writes_.end(id);
  switch (owner.machine) {
    case Machine::kNobody:
      return false;
    case Machine::kRecovery:
      output_.fate.recovered = known_.epoch();
      return false;
    case Machine::kGivenUp:
      output_.fate.must_restart = true;
      return false;
    case Machine::kFirstQuorum:
      first_quorum_.step(now, FirstQuorum::Persisted{owner.id});
      return true;
    case Machine::kRaft:
      CHECK(raft_.has_value());
      raft_->step(now, Raft::Persisted{owner.id});
      return true;
  }
  return false;
}

bool QuorumSeat::on_agent_message(Instant now, input::AgentMessageReceived& fact) {
  const bool is_taken = leads() || (mutant(SchedulerMutant::kKillFromStaleLeader) &&
                                    raft_.has_value() && raft_->leader() == options_.self);
  if (is_taken) {
    scheduler_.step(now, std::move(fact));
  }
  return is_taken;
}

bool QuorumSeat::on_submit(Instant now, input::ClientSubmit& fact) {
  const bool is_new = leads() && !state().job_of_key(fact.key).has_value();
  std::string why_not =
      is_new ? why_not_taken(now, *raft_, state(), level_of_submit(fact.spec)) : std::string();
  if (!why_not.empty()) {
    output_.answers.replies.push_back(refusal(fact.request, std::move(why_not)));
    return false;
  }
  scheduler_.step(now, std::move(fact));
  return true;
}

bool QuorumSeat::on_order(Instant now, input::ClientOrder& fact) {
  const std::uint64_t level =
      std::visit([](const auto& entry) { return level_needed(Entry(entry)); }, fact.order);
  std::string why_not = leads() ? why_not_taken(now, *raft_, state(), level) : std::string();
  if (!why_not.empty()) {
    output_.answers.replies.push_back(refusal(fact.request, std::move(why_not)));
    return false;
  }
  if (leads() && !fact.ends_vote_of.is_zero()) {
    keeper_.end_vote(now, *raft_, std::move(fact));  // In the log the vote ends before it.
    return true;
  }
  scheduler_.step(now, std::move(fact));
  return true;
}

/// Voters that cannot apply it must not meet it: it is met again. Every voter of this protocol
/// knows the first administrator's entry: it does not wait for a founder that left before it spoke.
bool QuorumSeat::on_roll_met(Instant now, input::RollMet& fact) {
  if (leads() && !why_not_taken(now, *raft_, state(), EntryKind::kEnrol).empty()) {
    fact = input::RollMet{{}, {}, {}, std::move(fact.directory)};
  }
  if (fact.is_empty() || !leads()) {
    return false;
  }
  scheduler_.step(now, std::move(fact));
  return true;
}

bool QuorumSeat::on_epoch_met(Instant now, const ClusterEpoch& epoch) {
  if (epoch.counter <= known_.epoch().counter) {
    return false;
  }
  known_.begin_epoch(epoch);
  if (!raft_.has_value()) {
    return false;
  }
  if (!raft_->log().configuration().voters.empty()) {
    give_seat_up(now, "the quorum was recovered elsewhere, as epoch " + epoch.text());
    return true;
  }
  // It has not had the log yet: there is nothing to keep.
  crdt::WriteBatch batch;
  raft_->erase_all(batch);
  batch.push_back(write_of(new_seat()));  // Never a founder's again.
  batch.push_back(write_of(epoch));
  leave_seat(now);
  persist({SeatWrites::Machine::kNobody, 0}, std::move(batch));
  return true;
}

bool QuorumSeat::on_recover(Instant now, RecoveredLog log) {
  CHECK(raft_.has_value());
  CHECK(log.epoch.counter > known_.epoch().counter);
  CHECK(log.snapshot.at == raft_->log().last());
  log.seat = new_seat();
  log.snapshot.configuration.voters = {{options_.self, log.seat}};
  crdt::WriteBatch batch = replaced_by(*raft_, log);
  output_.events.push_back(recovered_event(*raft_, log));
  leave_seat(now);
  known_.begin_epoch(log.epoch);
  // The writes of the new machine come behind this batch: no vote is durable before the log is.
  persist({SeatWrites::Machine::kRecovery, 0}, std::move(batch));
  take_seat(now, std::move(log));
  return true;
}

bool QuorumSeat::wants_hosts(Instant now) const {
  return leads() && keeper_.next_deadline(*raft_) <= now;
}

void QuorumSeat::tick(Instant now) {
  if (first_quorum_.next_deadline() <= now) {
    first_quorum_.tick(now);
  }
  if (raft_.has_value() && raft_->next_deadline() <= now) {
    raft_->tick(now);
  }
  if (scheduler_.next_deadline() <= now) {
    scheduler_.tick(now);
  }
  pump(now);
}

Instant QuorumSeat::next_deadline() const {
  return std::min({first_quorum_.next_deadline(), scheduler_.next_deadline(),
                   raft_.has_value() ? raft_->next_deadline() : kNever,
                   leads() ? keeper_.next_deadline(*raft_) : kNever});
}

std::string QuorumSeat::deadlines_text(Instant now) const {
  const auto text = [now](std::string_view name, Instant deadline) {
    return std::string(name) + "=" +
           (deadline == kNever ? "never" : std::to_string((deadline - now).count())) + " ";
  };
  return text("first_quorum", first_quorum_.next_deadline()) +
         text("raft", raft_.has_value() ? raft_->next_deadline() : kNever) +
         text("scheduler", scheduler_.next_deadline());
}

SeatOutput QuorumSeat::take_output() {
  return std::exchange(output_, {});
}

void QuorumSeat::check_invariants() const {
  first_quorum_.check_invariants();
  scheduler_.check_invariants();
  if (raft_.has_value()) {
    raft_->check_invariants();
  }
}

void QuorumSeat::pump(Instant now) {
  for (int round = 0; round < kSeatRoundsMax; ++round) {
    const bool founded = drain_first_quorum(now);
    const bool moved = drain_raft(now);
    tell_leadership(now);
    const bool scheduled = drain_scheduler(now);
    const bool kept = drain_keeper(now);
    if (!founded && !moved && !scheduled && !kept) {
      return;
    }
  }
  CHECK(false);
}

bool QuorumSeat::drain_first_quorum(Instant now) {
  FirstQuorum::Output output = first_quorum_.take_output();
  for (auto& message : output.messages) {
    output_.messages.push_back(
        {message.to, type_of(message.message), Nonce(), encode(message.message)});
  }
  for (auto& each : output.persists) {
    persist({SeatWrites::Machine::kFirstQuorum, each.id}, std::move(each.writes));
  }
  append(output_.events, std::move(output.events));
  if (!output.formed.has_value()) {
    return false;
  }
  output_.fate.formed = output.formed->cluster;
  if (!raft_.has_value() && known_.epoch().is_first()) {
    RecoveredLog log;
    log.snapshot.configuration = founding(output.formed->voters);
    take_seat(now, std::move(log));
  }
  return true;
}

bool QuorumSeat::drain_raft(Instant now) {
  if (!raft_.has_value()) {
    return false;
  }
  Raft::Output output = raft_->take_output();
  for (auto& message : output.messages) {
    output_.messages.push_back(
        {message.to, type_of(message.message), Nonce(), encode(message.message)});
  }
  for (auto& each : output.persists) {
    persist({SeatWrites::Machine::kRaft, each.id}, std::move(each.writes));
  }
  append(output_.events, std::move(output.events));
  for (const Seat& seat : output.invited) {
    keeper_.seat_heard(seat);
  }
  if (output.gives_seat_up.has_value()) {
    give_seat_up(now, *output.gives_seat_up);
    return true;
  }
  if (raft_->halted()) {
    output_.fate.halted = "raft halted; the event before says why";
  }
  if (output.install.has_value()) {
    install(now, *output.install);
  }
  for (CommittedEntry& entry : output.committed) {
    log_.apply(now, std::move(entry), *raft_, scheduler_, output_.events);
  }
  for (const ConfirmedRead& read : output.reads) {
    end_read(now, read.context, true);
  }
  for (const std::uint64_t context : output.refused_reads) {
    end_read(now, context, false);
  }
  return !output.committed.empty() || output.install.has_value() || !output.reads.empty() ||
         !output.refused_reads.empty();
}

void QuorumSeat::install(Instant now, const Snapshot& snapshot) {
  Result<State> state = State::decode(snapshot.state);
  if (!state) {
    output_.fate.halted = state.error().text;
    return;
  }
  scheduler_.step(now, input::Restored{std::move(state).value()});
  log_.restored(scheduler_.state());
}

void QuorumSeat::end_read(Instant now, std::uint64_t number, bool is_confirmed) {
  const auto owner = reads_.end(number);
  if (!owner.has_value()) {
    return;
  }
  if (owner->is_client) {
    (is_confirmed ? output_.answers.confirmed_reads : output_.answers.refused_reads)
        .push_back(owner->id);
  } else if (is_confirmed) {
    scheduler_.step(now, input::MajorityRound{owner->id});
  }
}

void QuorumSeat::tell_leadership(Instant now) {
  if (!raft_.has_value()) {
    return;
  }
  const bool leads = raft_->role() == Role::kLeader;
  const bool is_ready = raft_->leads_with_own_term_applied();
  if (told_.own_term_applied && !leads) {
    contact_.led_until(raft_->last_majority_at());
  }
  if (auto news = pace_.look(now, *raft_, options_.self)) {
    scheduler_.step(now, *std::move(news));
  }
  if (auto news = contact_.watch(now, *raft_, known_.leaves_out(*raft_))) {
    output_.events.push_back(*std::move(news));
  }
  if (leads != told_.leads || is_ready != told_.own_term_applied) {
    told_ = {leads, is_ready};
    scheduler_.step(now, told_);
  }
}

bool QuorumSeat::drain_scheduler(Instant now) {
  Scheduler::Output output = scheduler_.take_output();
  for (OutgoingMessage& message : output.messages) {
    if (message.to == options_.self) {
      output_.to_own_agent.emplace_back(message.nonce, std::move(message.message));
    } else {
      output_.messages.push_back({message.to, type_of(message.message), message.nonce,
                                  encode(message.message), message.is_again});
    }
  }
  for (const ClientReply& reply : output.replies) {
    output_.answers.replies.push_back(reply_of(reply));
  }
  append(output_.events, std::move(output.events));
  output_.unanswered.insert(output_.unanswered.end(), output.unanswered.begin(),
                            output.unanswered.end());
  output_.roll.add(output.roll);
  if (!output.halted.empty()) {
    output_.fate.halted = output.halted;
  }
  for (std::string& proposal : output.proposals) {
    CHECK(raft_.has_value());
    raft_->step(now, Raft::Propose{std::move(proposal)});
  }
  for (const std::uint64_t context : output.round_requests) {
    CHECK(raft_.has_value());
    raft_->step(now, Raft::Read{reads_.begin({false, context})});
  }
  return !output.proposals.empty() || !output.round_requests.empty();
}

bool QuorumSeat::drain_keeper(Instant now) {
  if (!raft_.has_value()) {
    return false;
  }
  bool moved = false;
  const auto drain = [&] {
    ElectorateKeeper::Output output = keeper_.take_output();
    for (Raft::Input& input : output.inputs) {
      raft_->step(now, std::move(input));
      moved = true;
    }
    for (input::ClientOrder& order : output.spared) {
      scheduler_.step(now, std::move(order));
      moved = true;
    }
    for (ElectorateKeeper::Done& done : output.done) {
      output_.answers.replies.push_back(reply_of(std::move(done)));
    }
    append(output_.events, std::move(output.events));
  };
  drain();
  keeper_.follow(now, *raft_);
  drain();
  return moved;
}

std::optional<RecoveryPlan> QuorumSeat::recovery_plan() const {
  if (!raft_.has_value() || raft_->log().configuration().voters.empty()) {
    return std::nullopt;
  }
  return RecoveryPlan{epoch(), raft_->log().last(), raft_->commit()};
}

std::size_t QuorumSeat::heard_voters(Instant now) const {
  return (is_voter() && !is_copy() ? 1U : 0U) +
         (has_seat() ? contact_.heard_of(now, raft_->log().configuration().voters) : 0U);
}

Result<RecoveredLog> QuorumSeat::continued_log(LogPosition expected,
                                               const ClusterEpoch& next) const {
  CHECK(raft_.has_value());
  CHECK(next.counter > epoch().counter);
  if (raft_->log().last() != expected) {
    return Error{ErrorCode::kConflict, "its log has changed meanwhile: start the recovery again"};
  }
  const Term term = std::max(raft_->term(), known_.heard_term()).next();
  return scheduler::continued_log(*raft_, state(), next, term, options_.verifier.get());
}

void QuorumSeat::take_seat(Instant now, RecoveredLog log) {
  RaftConfig config;
  config.level = kCommandLevel;
  raft_.emplace(config, options_.self, rng_.fork(), std::move(log), now);
  contact_.take_seat(now);
}

/// The id of the seat is on disk before this host says anything from it.
void QuorumSeat::take_new_seat(Instant now) {
  RecoveredLog log;
  log.seat = new_seat();
  log.epoch = known_.epoch();
  persist({SeatWrites::Machine::kNobody, 0}, {write_of(log.seat), write_of(log.epoch)});
  output_.events.push_back({Severity::kInfo, "seat_taken", {}});
  take_seat(now, std::move(log));
}

/// Drops the machines and the requests that belong to the log followed here.
void QuorumSeat::leave_seat(Instant now) {
  for (const std::uint64_t request : reads_.give_up()) {
    output_.answers.refused_reads.push_back(request);
  }
  writes_.leave_raft();
  if (told_.leads) {
    scheduler_.step(now, input::LeadershipChanged{false, false});
  }
  told_ = {};
  raft_.reset();
  keeper_.leave();
  for (ElectorateKeeper::Done& done : keeper_.take_output().done) {
    output_.answers.replies.push_back(reply_of(std::move(done)));
  }
  pace_ = VoterPace();
  contact_.leave_seat();
  log_ = SeatLog(options_.compact_entries);
}

/// The agent starts again once raft/ says so durably: else a crash would bring back the voter that
/// was. The log itself is kept, aside.
void QuorumSeat::give_seat_up(Instant now, const std::string& why) {
  output_.events.push_back({Severity::kWarn, "seat_given_up", {{"why", why}}});
  leave_seat(now);
  gives_seat_up_ = true;
  persist({SeatWrites::Machine::kGivenUp, 0}, {write_of_given_up(why)});
}

void QuorumSeat::persist(SeatWrites::Owner owner, crdt::WriteBatch writes) {
  output_.persists.push_back({writes_.begin(owner), std::move(writes)});
}

HostId QuorumSeat::ready_leader() const {
  const bool is_awaited = trusts_own_seat() && log_.applied_term() != raft_->term();
  return is_awaited ? HostId() : known_leader();
}

std::optional<crdt::QuorumView> QuorumSeat::take_quorum_news() {
  // The leader alone speaks of itself, once it is sure: voters that disagree would only confuse.
  return leads() ? known_.take_news(*raft_, state().directory().version()) : std::nullopt;
}

Duration QuorumSeat::age(Instant now) const {
  return leads() || !raft_.has_value() ? Duration(0) : contact_.age(now);
}

Duration QuorumSeat::leaderless(Instant now) const {
  return leads() || !raft_.has_value() ? Duration(0) : contact_.leaderless(now);
}

}  // namespace muster::scheduler
