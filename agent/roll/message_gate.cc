#include "agent/roll/message_gate.h"

#include <utility>

#include "crdt/rows/codec.h"
#include "gossip/base/check.h"
#include "gossip/base/version.h"
#include "gossip/wire/message_table.h"

namespace muster::agent {
namespace {

/// The most complaints in a period, if foreign hosts take turns. Every drop is counted.
constexpr std::size_t kComplaintsMax = 20;
constexpr Duration kComplaintsPeriod = std::chrono::minutes(1);

ClusterId recovered_cluster(const crdt::Records& records) {
  const auto found = records.find(std::string(kClusterKey));
  return found == records.end() ? ClusterId() : ClusterId::from_bytes(found->second);
}

}  // namespace

bool names_cluster(gossip::MessageType type) {
  return gossip::is_of(gossip::Owner::kRows, type) ||
         gossip::is_of(gossip::Owner::kFirstQuorum, type);
}

MessageGate::MessageGate(const NodeOptions& options, const crdt::Records& id_records, Instant now)
    : self_(options.self),
      cluster_(recovered_cluster(id_records)),
      seeds_(options, now),
      founding_(options.credentials, id_records) {}

void MessageGate::begin(Instant now, const Credentials& credentials, crdt::HostStore& store,
                        Outbox& outbox) {
  for (const auto* records : {&credentials.records, &founding_.recorded()}) {
    for (const auto& [host, record] : *records) {
      store.step(now, crdt::Vouch{host, record});
    }
  }
  if (cluster_.is_zero()) {
    founding_.open(outbox);
  } else {
    founding_.close(outbox);
  }
}

bool MessageGate::lets_in(const gossip::Envelope& envelope, const gossip::Received& input,
                          const Roll& roll, Outbox& outbox) {
  const bool is_let_in = judges(envelope, input, roll, outbox);
  if (is_let_in) {
    seeds_.on_heard(input.link);
  }
  return is_let_in;
}

bool MessageGate::judges(const gossip::Envelope& envelope, const gossip::Received& input,
                         const Roll& roll, Outbox& outbox) {
  const gossip::Endpoint& link = input.link;
  if (envelope.version != kProtocolVersion) {
    seeds_.on_foreign(link, SeedSilence::kOtherVersion);
    complain(Severity::kAlarm, "foreign_version", envelope, outbox);
  } else if (!roll.allows(envelope.type, envelope.from, input.sender)) {
    complain(Severity::kAlarm, "not_allowed", envelope, outbox);
  } else if (envelope.from == self_) {
    complain(Severity::kAlarm, "own_id_elsewhere", envelope, outbox);
  } else if (gossip::is_of(gossip::Owner::kFirstQuorum, envelope.type)) {
    return true;
  } else if (envelope.cluster.is_zero() || envelope.cluster == cluster_) {
    // A founder that has no cluster yet hears of one by Form or from a seed, not from a leader.
    const bool is_early = cluster_.is_zero() && gossip::is_said_by_quorum(envelope.type);
    dropped_count_ += is_early ? 1 : 0;
    return !is_early;
  } else if (!cluster_.is_zero()) {
    seeds_.on_foreign(link, SeedSilence::kOtherCluster);
    complain(Severity::kAlarm, "foreign_cluster", envelope, outbox);
  } else if (seeds_.is_seed(link)) {
    join(envelope.cluster, outbox);
    return true;
  } else {
    // Hosts that found a quorum call a seed that does not.
    complain(Severity::kInfo, "uninvited_cluster", envelope, outbox);
  }
  return false;
}

void MessageGate::complain(Severity severity, std::string_view what,
                           const gossip::Envelope& envelope, Outbox& outbox) {
  count_drop();
  if (complaint_about_ == envelope.from) {
    return;
  }
  if (outbox.now() - complaints_since_ >= kComplaintsPeriod) {
    complaints_since_ = outbox.now();
    complaints_ = 0;
  }
  if (complaints_ >= kComplaintsMax) {
    return;
  }
  ++complaints_;
  complaint_about_ = envelope.from;
  outbox.emit(severity, what,
              {{"host", envelope.from.short_hex()},
               {"version", std::to_string(envelope.version)},
               {"cluster", envelope.cluster.short_hex()},
               {"ours", cluster_.short_hex()}});
}

void MessageGate::join(ClusterId cluster, Outbox& outbox) {
  CHECK(cluster_.is_zero());
  cluster_ = cluster;
  founding_.close(outbox);
  seeds_.greet_all(outbox.now());
  outbox.write({}, crdt::Environment::kId,
               {{std::string(kClusterKey), std::string(cluster.bytes())}});
  outbox.emit(Severity::kInfo, "joined_cluster", {{"cluster", cluster.hex()}});
}

scheduler::FirstQuorum::FoundersKnown MessageGate::known_founders(const Roll& roll) const {
  scheduler::FirstQuorum::FoundersKnown known;
  if (roll.founders_wanted() > 0) {
    for (const HostId host : roll.founders()) {
      known.founders.push_back({host, !cluster_.is_zero()});
    }
  }
  return known;
}

}  // namespace muster::agent
