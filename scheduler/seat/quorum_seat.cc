#include "scheduler/seat/quorum_seat.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/state_machine.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/first_quorum_messages.h"

namespace muster::scheduler {

static_assert(StateMachine<QuorumSeat>);

namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

/// The machines of a seat answer each other at most this often in one step.
constexpr int kSeatRoundsMax = 64;

/// Whoever has a seat of its own was no founder or is none any more: its cluster exists.
FirstQuorum::Config first_quorum_config(const SeatOptions& options,
                                                   const crdt::Records& raft_records) {
  FirstQuorum::Config config;
  if (recover_log(raft_records).value().seat != SeatId()) {
    return config;
  }
  config.expect = static_cast<std::size_t>(std::max(options.bootstrap_expect, 0));
  config.seed_count = options.seeds.empty() && config.expect == 1 ? 1 : options.seeds.size();
  if (!config.validate()) {
    config = {};  // Checked with a message before the node is made; here it means join only.
  }
  return config;
}

}  // namespace

Status QuorumSeat::check(const crdt::Records& raft_records, HostId self) {
  const auto log = recover_log(raft_records);
  if (!log) {
    return log.error();
  }
  if (const auto why = recover_given_up(raft_records)) {
    return Error{ErrorCode::kCorrupt, *why};
  }
  // Whoever sat there as a founder is among the founders, removed later or not.
  const bool is_founder = log->seat == SeatId();
  const Configuration& base = log->snapshot.configuration;
  if (is_founder && log->snapshot.at.index == LogIndex() && !base.voters.empty() &&
      base.voter(self) == nullptr) {
    return Error{ErrorCode::kConflict,
                 "host " + self.short_hex() + " is none of its voters (was id/ lost?)"};
  }
  if (const auto quorum = recover_quorum(raft_records); !quorum) {
    return quorum.error();
  }
  return ok();
}

bool QuorumSeat::is_bare(const crdt::Records& raft_records) {
  const auto log = recover_log(raft_records);
  const auto quorum = recover_quorum(raft_records);
  return log.has_value() && log->snapshot.configuration.voters.empty() && log->entries.empty() &&
         log->hard_state.term == Term() && quorum.has_value() && !quorum->formed.has_value() &&
         !quorum->promise.has_value();
}

QuorumSeat::QuorumSeat(const SeatOptions& options, const crdt::Records& raft_records, Rng rng,
                       Instant now)
    : options_(options),
      rng_(rng),
      first_quorum_(first_quorum_config(options, raft_records), options.self, rng_.fork(),
                    recover_quorum(raft_records).value(), now),
      scheduler_({}, State(), now),
      hasher_(options.compact_entries) {
  if (first_quorum_.formed().has_value()) {
    output_.formed = first_quorum_.formed()->cluster;  // Its own record may have been lost.
  }
  RecoveredLog log = recover_log(raft_records).value();
  epoch_ = log.epoch;
  log.must_compare = !mutant(SchedulerMutant::kDiskNotCompared);
  if (!log.snapshot.configuration.voters.empty() || log.seat != SeatId()) {
    take_seat(now, std::move(log));
    pump(now);
  }
}

void QuorumSeat::take_seat(Instant now, RecoveredLog log) {
  RaftConfig config;
  config.level = kCommandLevel;
  raft_.emplace(config, options_.self, rng_.fork(), std::move(log), now);
  heard_leader_at_ = now;
  current_at_ = now;
}

void QuorumSeat::step(Instant now, Input fact) {
  const auto to_raft = [&](Raft::Input each) {
    raft_->step(now, std::move(each));
    return true;
  };
  const bool moved = std::visit(
      Overloaded{
          [&](input::MessageReceived& each) { return on_received(now, each); },
          [&](const input::Persisted& each) { return on_persisted(now, each.id); },
          [&](input::AgentMessageReceived& each) { return on_agent_message(now, each); },
          [&](const input::LinkReset& each) {
            return raft_.has_value() && to_raft(Raft::LeaderLinkReset{each.host});
          },
          [&](FirstQuorum::SeedsKnown& each) {
            first_quorum_.step(now, std::move(each));
            return true;
          },
          [&](input::HostViewChanged& each) {
            scheduler_.step(now, std::move(each));
            return true;
          },
          [&](const input::StormChanged& each) {
            scheduler_.step(now, each);
            keeper_.storm_changed(each.suspected);
            return true;
          },
          [&](const input::OwnDiskLate&) {
            pace_.own_disk_is_late(now, *raft_);
            return true;
          },
          [&](const input::QuorumHeard& each) { return on_quorum_heard(each.view); },
          [&](input::ClientSubmit& each) { return on_submit(now, each); },
          [&](input::ClientOrder& each) { return on_order(now, each); },
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
            reads_[++last_read_] = {true, each.request};
            return to_raft(Raft::Read{last_read_});
          },
          [&](const input::EpochMet& each) { return on_epoch_met(now, each.epoch); },
          [&](input::Recover& each) { return on_recover(now, std::move(each.log)); },
      },
      fact);
  if (moved) {
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
    told_commit_ = std::max(told_commit_, *told);
  }
  if (const Seat* voter = raft_->log().configuration().voter(from);
      voter != nullptr && is_from_seat(message, voter->id)) {
    voters_heard_[from] = now;
  }
  raft_->step(now, Raft::PeerMessage{from, std::move(message)});
  if (from == raft_->leader()) {
    heard_leader_at_ = now;
    // A new leader knows what its predecessor had committed once an entry of its own is.
    const bool is_current = told.has_value() && raft_->commit() >= *told &&
                            raft_->log().term_at(raft_->commit()) == raft_->term();
    current_at_ = is_current ? now : current_at_;
  }
}

/// The seat's id is on disk before anything that is said from it.
void QuorumSeat::take_new_seat(Instant now) {
  RecoveredLog log;
  log.seat = SeatId(rng_.next() | 1U);
  log.epoch = epoch_;
  persist({Owner::Machine::kSeat, 0},
          {write_of(log.seat), write_of(log.epoch)});
  output_.events.push_back({Severity::kInfo, "seat_taken", {}});
  take_seat(now, std::move(log));
}

bool QuorumSeat::on_persisted(Instant now, std::uint64_t id) {
  const auto found = persists_.find(id);
  CHECK(found != persists_.end());
  const Owner owner = found->second;
  persists_.erase(found);
  switch (owner.machine) {
    case Owner::Machine::kSeat:
      return false;
    case Owner::Machine::kRecovery:
      output_.recovered = epoch_;
      return false;
    case Owner::Machine::kGivenUp:
      output_.starts_anew = true;
      return false;
    case Owner::Machine::kFirstQuorum:
      first_quorum_.step(now, FirstQuorum::Persisted{owner.id});
      return true;
    case Owner::Machine::kRaft:
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

bool QuorumSeat::on_quorum_heard(const crdt::QuorumView& view) {
  if (view.epoch != epoch_) {
    return false;
  }
  // Within a term the leader's own row alone speaks, the newest last: it may name other voters.
  const bool is_later =
      view.term == heard_.term && (heard_.leader.is_zero() || view.leader == heard_.leader);
  if (view.term > heard_.term || is_later) {
    heard_ = view;
  }
  return false;
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
    output_.messages.push_back({message.to, type_of(message.message), Nonce(),
                                encode(message.message)});
  }
  for (auto& each : output.persists) {
    persist({Owner::Machine::kFirstQuorum, each.id}, std::move(each.writes));
  }
  std::move(output.events.begin(), output.events.end(), std::back_inserter(output_.events));
  if (!output.formed.has_value()) {
    return false;
  }
  output_.formed = output.formed->cluster;
  if (!raft_.has_value() && epoch_.is_first()) {
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
    output_.messages.push_back({message.to, type_of(message.message), Nonce(),
                                encode(message.message)});
  }
  for (auto& each : output.persists) {
    persist({Owner::Machine::kRaft, each.id}, std::move(each.writes));
  }
  std::move(output.events.begin(), output.events.end(), std::back_inserter(output_.events));
  for (const Seat& seat : output.invited) {
    keeper_.seat_heard(seat);
  }
  if (output.gives_seat_up.has_value()) {
    give_seat_up(now, *output.gives_seat_up);
    return true;
  }
  if (raft_->halted()) {
    output_.halted = "raft halted; the event before says why";
  }
  if (output.install.has_value()) {
    Result<State> state = State::decode(output.install->state);
    if (state) {
      scheduler_.step(now, input::Restored{std::move(state).value()});
      hasher_.restored(scheduler_.state());
    } else {
      output_.halted = state.error().text;
    }
  }
  for (CommittedEntry& entry : output.committed) {
    apply(now, entry);
  }
  for (const ReadGrant& read : output.reads) {
    grant(now, read.context, true);
  }
  for (const std::uint64_t context : output.refused_reads) {
    grant(now, context, false);
  }
  return !output.committed.empty() || output.install.has_value() || !output.reads.empty() ||
         !output.refused_reads.empty();
}

void QuorumSeat::grant(Instant now, std::uint64_t context, bool granted) {
  const auto found = reads_.find(context);
  if (found == reads_.end()) {
    return;
  }
  const ReadOwner owner = found->second;
  reads_.erase(found);
  if (owner.is_client) {
    (granted ? output_.granted_reads : output_.refused_reads).push_back(owner.id);
  } else if (granted) {
    scheduler_.step(now, input::MajorityRound{owner.id});
  }
}

void QuorumSeat::tell_leadership(Instant now) {
  if (!raft_.has_value()) {
    return;
  }
  const bool leads = raft_->role() == Role::kLeader;
  const bool ready = raft_->leads_with_own_term_applied();
  if (told_ready_ && !leads) {
    // What a leader knew is as old as the last word of a majority to it.
    heard_leader_at_ = std::max(heard_leader_at_, raft_->last_majority_at());
    current_at_ = std::max(current_at_, raft_->last_majority_at());
  }
  tell_quiet_voters(now);
  watch_for_loss(now);
  if (leads != told_leads_ || ready != told_ready_) {
    told_leads_ = leads;
    told_ready_ = ready;
    scheduler_.step(now, input::LeadershipChanged{leads, ready});
  }
}

/// A leader that goes is replaced within a second or two; what lasts longer is no election.
constexpr Duration kLostAfter = std::chrono::seconds(5);

void QuorumSeat::watch_for_loss(Instant now) {
  // One that was replaced while it was off is told nothing, and misses nothing.
  const bool is_leaderless = raft_->is_voter() && raft_->leader().is_zero() && is_heard_of();
  leaderless_since_ = is_leaderless ? std::min(leaderless_since_, now) : kNever;
  const bool is_lost = is_leaderless && now - leaderless_since_ >= kLostAfter;
  if (is_lost == told_lost_) {
    return;
  }
  told_lost_ = is_lost;
  if (!is_lost && raft_->leader().is_zero()) {
    return;
  }
  if (!is_lost) {
    output_.events.push_back({Severity::kInfo, "quorum_reached", {}});
    return;
  }
  output_.events.push_back(
      {Severity::kAlarm,
       "quorum_unreachable",
       {{"voters", std::to_string(raft_->voters().size())},
        {"advice",
         "jobs run on, nothing is accepted or placed from here: ask the other voters with "
         "muster quorum --node"}}});
}

void QuorumSeat::tell_quiet_voters(Instant now) {
  if (auto news = pace_.look(now, *raft_, options_.self)) {
    scheduler_.step(now, *std::move(news));
  }
}

bool QuorumSeat::drain_scheduler(Instant now) {
  Scheduler::Output output = scheduler_.take_output();
  for (OutgoingMessage& message : output.messages) {
    if (message.to == options_.self) {
      output_.to_own_agent.emplace_back(message.nonce, std::move(message.message));
    } else {
      output_.messages.push_back({message.to, type_of(message.message), message.nonce,
                                  encode(message.message)});
    }
  }
  for (const ClientReply& reply : output.replies) {
    SeatReply out;
    out.request = reply.request;
    if (reply.error.has_value()) {
      out.code = reply.error->code;
      out.text = reply.error->text;
    } else if (reply.job == JobId()) {
      out.done = true;
    } else {
      out.job = reply.job;
    }
    output_.replies.push_back(std::move(out));
  }
  std::move(output.events.begin(), output.events.end(), std::back_inserter(output_.events));
  if (!output.halted.empty()) {
    output_.halted = output.halted;
  }
  for (std::string& proposal : output.proposals) {
    CHECK(raft_.has_value());
    raft_->step(now, Raft::Propose{std::move(proposal)});
  }
  for (const std::uint64_t context : output.round_requests) {
    CHECK(raft_.has_value());
    reads_[++last_read_] = {false, context};
    raft_->step(now, Raft::Read{last_read_});
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
    answer_wishes(std::move(output.done));
    std::move(output.events.begin(), output.events.end(), std::back_inserter(output_.events));
  };
  drain();
  keeper_.follow(now, *raft_);
  drain();
  return moved;
}

void QuorumSeat::answer_wishes(std::vector<ElectorateKeeper::Done> done) {
  for (ElectorateKeeper::Done& each : done) {
    output_.replies.push_back(
        {each.request, std::nullopt, each.ok, each.code, std::move(each.text)});
  }
}

void QuorumSeat::persist(Owner owner, crdt::WriteBatch writes) {
  const std::uint64_t id = ++last_persist_;
  persists_.emplace(id, owner);
  output_.persists.push_back({id, std::move(writes)});
}

/// Whose leader speaks to it knows best, then a voter. Not so one that later news leaves out: it is
/// no member any more, or not yet.
bool QuorumSeat::trusts_own_seat() const {
  if (!raft_.has_value()) {
    return false;
  }
  const bool is_led = !raft_->leader().is_zero() && raft_->term() >= heard_.term;
  return is_led || (raft_->is_voter() && is_heard_of());
}

/// Whether the newest row about the quorum, if any, counts this host among the voters.
bool QuorumSeat::is_heard_of() const {
  return heard_.voters.empty() || heard_.term < raft_->term() ||
         std::find(heard_.voters.begin(), heard_.voters.end(), options_.self) !=
             heard_.voters.end();
}

HostId QuorumSeat::known_leader() const {
  return trusts_own_seat() ? raft_->leader() : heard_.leader;
}

HostId QuorumSeat::ready_leader() const {
  if (!trusts_own_seat()) {
    return heard_.leader;
  }
  return applied_term_ == raft_->term() ? raft_->leader() : HostId();
}

Term QuorumSeat::known_term() const {
  return trusts_own_seat() ? raft_->term() : heard_.term;
}

crdt::QuorumView QuorumSeat::known_quorum() const {
  if (!trusts_own_seat() || raft_->voters().empty()) {
    return heard_;
  }
  crdt::QuorumView view;
  view.term = raft_->term();
  view.leader = raft_->leader();
  view.voters = raft_->voters();
  view.epoch = epoch_;
  return view;
}

std::optional<crdt::QuorumView> QuorumSeat::take_quorum_news() {
  // The leader alone speaks of itself, once it is sure: voters that disagree would only confuse.
  if (!leads()) {
    return std::nullopt;
  }
  crdt::QuorumView view = known_quorum();
  if (view == told_) {
    return std::nullopt;
  }
  told_ = view;
  return view;
}

Duration QuorumSeat::age(Instant now) const {
  return leads() || !raft_.has_value() ? Duration(0) : now - current_at_;
}

Duration QuorumSeat::leaderless(Instant now) const {
  return leads() || !raft_.has_value() ? Duration(0) : now - heard_leader_at_;
}

}  // namespace muster::scheduler
