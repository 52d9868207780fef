// Epochs of the quorum (design 7): what this host obeys, and how an operator begins another one
// when a majority of the voters is lost for good.

#include "agent/node/node.h"

#include <algorithm>
#include <utility>


namespace muster::agent {
namespace {

/// A majority that is left has elected another leader by then.
constexpr Duration kLeaderlessFor = std::chrono::seconds(5);

/// What voters say to each other, and what leader and agents say to each other: all that one epoch
/// must not take from another. Rows, probes and the first quorum know none.
bool is_of_quorum(gossip::MessageType type) {
  const auto number = static_cast<std::uint8_t>(type);
  const auto is_within = [number](gossip::MessageType first, gossip::MessageType last) {
    return number >= static_cast<std::uint8_t>(first) && number <= static_cast<std::uint8_t>(last);
  };
  return is_within(gossip::MessageType::kVoteRequest, gossip::MessageType::kTimeoutNow) ||
         is_within(gossip::MessageType::kHello, gossip::MessageType::kRelayedAcks);
}

}  // namespace

/// A log that an earlier life wrote for a new epoch makes the host obey it; one of an epoch that it
/// obeys no more is given up.
void Node::begin_epochs(Instant now) {
  const ClusterEpoch met = epoch_.met();
  seat_.step(now, scheduler::input::EpochMet{met});
  if (!epoch_.is_durable()) {
    persist({PersistOwner::kEpoch, met.counter}, crdt::Environment::kId, {epoch_.write()});
  } else if (!met.is_first()) {
    gang_agent_.step(now, EpochObeyed{met});
  }
}

/// Each epoch of a host is complained about once a row, of so many hosts.
bool Node::is_new_complaint(std::string_view alarm, HostId host, const ClusterEpoch& epoch) {
  constexpr std::size_t kComplaintsMax = 1024;
  if (epochs_complained_.size() >= kComplaintsMax && !epochs_complained_.contains({alarm, host})) {
    return false;
  }
  return std::exchange(epochs_complained_[{alarm, host}], epoch) != epoch;
}

bool Node::meet_epoch(Instant now, const gossip::Envelope& envelope) {
  if (envelope.type == gossip::MessageType::kRequest ||
      envelope.type == gossip::MessageType::kResponse) {
    return true;  // What lies behind their fields is the asking client's.
  }
  const ClusterEpoch theirs = gossip::epoch_of(envelope);
  if (epoch_.is_too_far_ahead(theirs)) {
    if (is_new_complaint("epoch_not_believed", envelope.from, theirs)) {
      emit(Severity::kAlarm, "epoch_not_believed",
           {{"host", envelope.from.short_hex()},
            {"epoch", theirs.text()},
            {"advice", "no quorum was recovered that often: restart that host's agent"}});
    }
    ++dropped_count_;
    return false;
  }
  if (theirs.counter > epoch_.met().counter) {
    raise_epoch(now, theirs);
  }
  if (epoch_.is_rival(theirs) && is_new_complaint("rival_epoch", envelope.from, theirs)) {
    emit(Severity::kAlarm, "rival_epoch",
         {{"host", envelope.from.short_hex()},
          {"epoch", theirs.text()},
          {"advice", "the quorum was recovered twice: recover it once more, at the one to keep"}});
  }
  // In the middle of a recovery the log is of an epoch that this host may not yet tell.
  if (!is_of_quorum(envelope.type) || (epoch_.obeys(theirs) && theirs == seat_.epoch())) {
    return true;
  }
  ++dropped_count_;
  return false;
}

void Node::raise_epoch(Instant now, const ClusterEpoch& epoch) {
  if (epoch_.meet(epoch)) {
    emit(Severity::kWarn, "epoch_met", {{"epoch", epoch.text()}});
    persist({PersistOwner::kEpoch, epoch.counter}, crdt::Environment::kId, {epoch_.write()});
    seat_.step(now, scheduler::input::EpochMet{epoch});
  }
}

void Node::epoch_persisted(Instant now, std::uint64_t counter) {
  if (counter == epoch_.met().counter) {
    epoch_.persisted(epoch_.met());
    gang_agent_.step(now, EpochObeyed{epoch_.met()});
  }
}

void Node::ask_recovery(Instant now, const Asker& asker, const Request& request) {
  if (!request.target.is_zero() && request.target != options_.self) {
    if (is_reachable(request.target)) {
      forward(now, {asker, request, request.target});
    } else {
      answer(asker, bad(ResponseStatus::kNotFound,
                        "host " + addresses_.name(request.target) + " is not reachable"));
    }
    return;
  }
  const auto arguments = decode_payload<RecoverArgs>(request.arguments);
  if (!arguments.has_value()) {
    answer(asker, bad(ResponseStatus::kUsage, "malformed order to recover"));
  } else if (arguments->is_order) {
    answer(asker, recover(now, *arguments));
  } else {
    answer(asker, good(now, encode_payload(recovery_info(now))));
  }
}

RecoveryInfo Node::recovery_info(Instant now) const {
  const crdt::QuorumView known = seat_.known_quorum();
  RecoveryInfo info;
  info.host = options_.self;
  info.host_name = options_.name;
  info.epoch = seat_.epoch().counter;
  info.live = seat_.heard_voters(now);
  info.voters = known.voters.size();
  // An order may have lain in the socket while this host was frozen and another was recovered.
  info.idle_ms = static_cast<std::uint64_t>(
      to_ms(std::min(seat_.leaderless(now), now - awake_since_)));
  if (const auto plan = seat_.recovery_plan()) {
    info.has_log = true;
    info.term = plan->last.term;
    info.last = plan->last.index;
    info.commit = plan->commit;
  }
  return info;
}

/// While a majority may still agree, a second quorum beside it would be the worse harm.
Response Node::recover(Instant now, const RecoverArgs& order) {
  const RecoveryInfo info = recovery_info(now);
  if (!info.has_log) {
    return bad(ResponseStatus::kConflict,
               "host " + options_.name + " has no copy of the quorum's log: name one that votes");
  }
  if (seat_.leads() || info.idle_ms < static_cast<std::uint64_t>(to_ms(kLeaderlessFor))) {
    return bad(ResponseStatus::kConflict,
               "host " + options_.name + " heard a leader, or stood still, " +
                   std::to_string(info.idle_ms / 1000) +
                   " s ago, and a majority may elect the next: look at `muster quorum` again in " +
                   std::to_string(kLeaderlessFor / std::chrono::seconds(1)) + " s");
  }
  if (info.live > info.voters / 2) {
    return bad(ResponseStatus::kConflict,
               std::to_string(info.live) + " of " + std::to_string(info.voters) +
                   " voters are alive, which is a majority: it elects a leader by itself, and "
                   "nothing is to be recovered");
  }
  const ClusterEpoch next{seat_.epoch().counter + 1, rng_.next()};
  Result<scheduler::RecoveredLog> log = seat_.continued_log({order.index, order.term}, next);
  if (!log) {
    return bad(ResponseStatus::kConflict, "host " + options_.name + ": " + log.error().text);
  }
  seat_.step(now, scheduler::input::Recover{std::move(log).value()});
  return good(now, encode_payload(recovery_info(now)));
}

}  // namespace muster::agent
