#include "agent/node/epoch_watch.h"

#include <algorithm>
#include <string>

#include "agent/api/payload.h"
#include "agent/node/answers.h"
#include "agent/step/row_inputs.h"
#include "gossip/base/mutant.h"
#include "gossip/wire/message_table.h"

namespace muster::agent {
namespace {

/// True for messages between voters, and between leader and agents: an epoch must not take those of
/// another one. Rows, probes and messages of the first quorum belong to no epoch.
bool is_of_epoch(gossip::MessageType type) {
  using gossip::Owner;
  return gossip::is_of(Owner::kRaft, type) || gossip::is_of(Owner::kLeader, type) ||
         gossip::is_of(Owner::kAgents, type);
}

}  // namespace

void EpochWatch::begin(Instant now, scheduler::QuorumSeat& seat, GangAgent& gang_agent,
                       Outbox& outbox) {
  const ClusterEpoch met = epoch_.met();
  seat.step(now, scheduler::input::EpochMet{met});
  if (!epoch_.is_durable()) {
    outbox.write({WriteOwner::kEpoch, met.counter}, crdt::Environment::kId, {epoch_.write()});
  } else if (!met.is_first()) {
    gang_agent.step(now, EpochObeyed{met});
  }
}

/// True unless the last complaint of this alarm about the host named the same epoch. Always false
/// for further hosts after kEpochComplaintsMax.
bool EpochWatch::is_new_complaint(std::string_view alarm, HostId host, const ClusterEpoch& epoch) {
  if (complained_.size() >= kEpochComplaintsMax && !complained_.contains({alarm, host})) {
    return false;
  }
  return std::exchange(complained_[{alarm, host}], epoch) != epoch;
}

bool EpochWatch::on_received(Instant now, const gossip::Envelope& envelope, bool may_vote,
                             scheduler::QuorumSeat& seat, Outbox& outbox) {
  if (gossip::is_of(gossip::Owner::kClients, envelope.type)) {
    return true;  // Their trailing elements are those of the client that asks: no epoch.
  }
  const ClusterEpoch theirs = gossip::epoch_of(envelope);
  if (!may_vote && !mutant(Mutant::kEpochBelieved)) {
    return !is_of_epoch(envelope.type) || (epoch_.obeys(theirs) && theirs == seat.epoch());
  }
  if (epoch_.is_too_far_ahead(theirs)) {
    if (is_new_complaint("epoch_not_believed", envelope.from, theirs)) {
      outbox.emit(
          Severity::kAlarm, "epoch_not_believed",
          {{"host", envelope.from.short_hex()},
           {"epoch", theirs.text()},
           {"advice",
            "this epoch is higher than recoveries can explain: restart the agent of that host"}});
    }
    return false;
  }
  if (theirs.counter > epoch_.met().counter) {
    on_met(now, theirs, seat, outbox);
  }
  rival_at_ = epoch_.is_rival(theirs) ? now : rival_at_;
  if (epoch_.is_rival(theirs) && is_new_complaint("rival_epoch", envelope.from, theirs)) {
    outbox.emit(Severity::kAlarm, "rival_epoch",
                {{"host", envelope.from.short_hex()},
                 {"epoch", theirs.text()},
                 {"advice",
                  "the quorum was recovered twice: recover it once more, from the voter whose log "
                  "should stay"}});
  }
  // In the middle of a recovery the log is of an epoch that this host may not yet name.
  return !is_of_epoch(envelope.type) || (epoch_.obeys(theirs) && theirs == seat.epoch());
}

void EpochWatch::on_row(Instant now, HostId host, const crdt::HostStore& store, const Roll& roll,
                        scheduler::QuorumSeat& seat, Outbox& outbox) {
  const auto view = quorum_in(store, host);
  if (!view.has_value() || !(roll.may_vote(host) || mutant(Mutant::kAnyoneSpeaksForQuorum))) {
    return;
  }
  if (!epoch_.is_too_far_ahead(view->epoch) && view->epoch.counter > epoch_.met().counter) {
    on_met(now, view->epoch, seat, outbox);
  }
  seat.step(now, scheduler::input::QuorumHeard{*view});
}

void EpochWatch::on_met(Instant now, const ClusterEpoch& epoch, scheduler::QuorumSeat& seat,
                        Outbox& outbox) {
  if (epoch_.meet(epoch)) {
    rival_at_ = kLongAgo;  // A higher epoch ends both rivals.
    outbox.emit(Severity::kWarn, "epoch_met", {{"epoch", epoch.text()}});
    outbox.write({WriteOwner::kEpoch, epoch.counter}, crdt::Environment::kId, {epoch_.write()});
    seat.step(now, scheduler::input::EpochMet{epoch});
  }
}

void EpochWatch::on_persisted(Instant now, std::uint64_t counter, GangAgent& gang_agent) {
  if (counter == epoch_.met().counter) {
    epoch_.persisted(epoch_.met());
    gang_agent.step(now, EpochObeyed{epoch_.met()});
  }
}

RecoveryInfo EpochWatch::recovery_info(const NodeView& node) const {
  RecoveryInfo info;
  info.host = node.options.self;
  info.host_name = node.options.name;
  info.epoch = node.seat.epoch().counter;
  info.live = node.seat.heard_voters(node.now);
  info.voters = node.seat.known_quorum().voters.size();
  info.idle_ms = static_cast<std::uint64_t>(
      to_ms(std::min(node.seat.leaderless(node.now), node.now - awake_since_)));
  info.has_rival = !epoch_.met().is_first() && node.now - rival_at_ < kRivalFor;
  if (const auto plan = node.seat.recovery_plan()) {
    info.has_log = true;
    info.term = plan->last.term;
    info.last = plan->last.index;
    info.commit = plan->commit;
  }
  return info;
}

Response EpochWatch::recover(const NodeView& node, const RecoverArgs& order,
                             scheduler::QuorumSeat& seat) {
  const std::string host = "host " + node.options.name;
  const RecoveryInfo info = recovery_info(node);
  if (!info.has_log) {
    return bad(node, ResponseStatus::kConflict,
               host + " has no copy of the quorum's log: name a voter");
  }
  if (epoch_.met().counter > seat.epoch().counter) {
    return bad(node, ResponseStatus::kConflict,
               host + " has just heard of epoch " + std::to_string(epoch_.met().counter) +
                   ", which was recovered elsewhere, and joins it: see `muster quorum`");
  }
  if (!(epoch_.met() == seat.epoch())) {
    return bad(node, ResponseStatus::kConflict,
               host + " is in the middle of a recovery: see `muster quorum`");
  }
  // An order that lay in the socket of a frozen host is as old as its sleep.
  const bool is_awake = node.now - awake_since_ >= kLeaderlessFor;
  const bool may_end_a_quorum = info.has_rival && is_awake;
  if (!may_end_a_quorum &&
      (seat.leads() || info.idle_ms < static_cast<std::uint64_t>(to_ms(kLeaderlessFor)))) {
    return bad(node, ResponseStatus::kConflict,
               host + " heard a leader, or stood still, " + std::to_string(info.idle_ms / 1000) +
                   " s ago, and a majority may elect the next: look at `muster quorum` again in " +
                   std::to_string(kLeaderlessFor / std::chrono::seconds(1)) + " s");
  }
  if (!may_end_a_quorum && node.seat.is_copy() && info.live > info.voters / 2) {
    return bad(node, ResponseStatus::kConflict,
               host + " was copied and does not vote, and " + std::to_string(info.live) +
                   " other voters answer, which may be copies as well: start the moved ones with "
                   "`muster agent --moved`; no recovery is needed");
  }
  if (!may_end_a_quorum && info.live > info.voters / 2) {
    return bad(node, ResponseStatus::kConflict,
               std::to_string(info.live) + " of " + std::to_string(info.voters) +
                   " voters are alive, which is a majority: it elects a leader by itself, and no "
                   "recovery is needed");
  }
  const ClusterEpoch next{seat.epoch().counter + 1, rng_.next()};
  // The log of a leader moves on after the operator's look. A later position loses no entry.
  const scheduler::LogPosition last = may_end_a_quorum && seat.leads()
                                          ? scheduler::LogPosition{info.last, info.term}
                                          : scheduler::LogPosition{order.index, order.term};
  Result<scheduler::RecoveredLog> log = seat.continued_log(last, next);
  if (!log) {
    return bad(node, ResponseStatus::kConflict, host + ": " + log.error().text);
  }
  seat.step(node.now, scheduler::input::Recover{std::move(log).value()});
  return good(node, encode_payload(recovery_info(node)));
}

}  // namespace muster::agent
