#include "agent/roll/admission.h"

#include <utility>

#include "crdt/rows/codec.h"
#include "gossip/base/check.h"
#include "gossip/base/version.h"
#include "gossip/wire/message_table.h"

namespace muster::agent {
namespace {

/// Whoever takes turns is complained about so often in a period; drops are all counted.
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

Admission::Admission(const NodeOptions& options, const crdt::Records& id_records, Instant now)
    : self_(options.self),
      cluster_(recovered_cluster(id_records)),
      seeds_(options.seeds, options.control, now),
      roll_(options.self),
      authority_(options.self, options.credentials, id_records),
      keys_(options.self, options.credentials, id_records),
      founding_(options.credentials, id_records),
      gate_(options.self) {}

void Admission::begin(Instant now, const Credentials& credentials, crdt::HostStore& store,
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

bool Admission::admits(const gossip::Envelope& envelope, const gossip::Received& input,
                       PendingWrites& writes, Outbox& outbox) {
  const bool is_admitted = judges(envelope, input, writes, outbox);
  if (is_admitted) {
    seed_keys_.on_heard(input.link);
  }
  return is_admitted;
}

bool Admission::judges(const gossip::Envelope& envelope, const gossip::Received& input,
                       PendingWrites& writes, Outbox& outbox) {
  const gossip::Endpoint& link = input.link;
  if (envelope.version != kProtocolVersion) {
    seeds_.on_foreign(link, SeedSilence::kOtherVersion);
    complain(Severity::kAlarm, "foreign_version", envelope, outbox);
  } else if (!roll_.allows(envelope.type, envelope.from, input.sender)) {
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
    join(envelope.cluster, writes, outbox);
    return true;
  } else {
    // A seed that founds no quorum is called by those who do.
    complain(Severity::kInfo, "uninvited_cluster", envelope, outbox);
  }
  return false;
}

void Admission::complain(Severity severity, std::string_view what, const gossip::Envelope& envelope,
                         Outbox& outbox) {
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

void Admission::learn_authorities(const std::vector<gossip::AuthorityLink>& links,
                                  PendingWrites& writes, Outbox& outbox) {
  if (authority_.learn(links, writes, outbox)) {
    gate_.tell_authorities(authority_.links());
  }
}

void Admission::hear_authority(const crdt::AuthorityView& view, const crdt::HostStore& store,
                               PendingWrites& writes, Outbox& outbox) {
  learn_authorities(view.links, writes, outbox);
  if (view.whole <= authority_.number()) {
    roll_.count_from(view.whole, store, outbox);
  }
}

void Admission::follow_log(Instant now, const scheduler::SeatOutput& changes,
                           const scheduler::RollBook& book, crdt::HostStore& store,
                           PendingWrites& writes, Outbox& outbox) {
  roll_.follow_log(now, changes, book, store, outbox);
  if (changes.authority_changed || !changes.admitted.empty()) {
    follow_authority(now, book, store, writes, outbox);
  }
}

void Admission::on_rows_checked(Instant now, crdt::RowsChecked rows,
                                const std::vector<HostId>& voters, Departure& departure,
                                crdt::HostStore& store, PendingWrites& writes, Outbox& outbox) {
  learn_authorities(rows.links, writes, outbox);
  if (rows.lacks_authority) {  // Voters' rows tell of it; they are to come first.
    rows.keyless.insert(rows.keyless.begin(), voters.begin(), voters.end());
  }
  gate_.on_checked(now, std::move(rows), departure, store, outbox);
}

void Admission::follow_authority(Instant now, const scheduler::RollBook& book,
                                 crdt::HostStore& store, PendingWrites& writes, Outbox& outbox) {
  const scheduler::RollKeys& keys = book.keys();
  if (keys.links.empty()) {
    return;
  }
  learn_authorities(keys.links, writes, outbox);
  if (authority_.number() != keys.authority()) {
    return;  // It is of another history: an audit of the voters' states says so.
  }
  if (authority_.authority().key != keys.links.back().key) {
    outbox.emit(Severity::kAlarm, "authorities_differ",
                {{"number", std::to_string(authority_.number())},
                 {"advice",
                  "this host believes another authority than the log names: a host that "
                  "may vote was broken into; found a new cluster"}});
    return;
  }
  authority_.open(keys.sealed, writes, outbox);
  if (authority_.signer() == nullptr && roll_.may_vote(self_)) {
    outbox.emit(Severity::kAlarm, "authority_missing",
                {{"number", std::to_string(authority_.number())},
                 {"advice",
                  "this host may vote and has no secret to let others in with: while it "
                  "leads nobody joins or is thrown out; `muster keys rotate --authority` "
                  "on another leader gives it one"}});
  }
  const crdt::AuthorityView view{keys.links, whole_authority(book, roll_.counts_from())};
  roll_.count_from(view.whole, store, outbox);
  store.step(now, crdt::Publish{crdt::FieldId::kAuthority, crdt::encode(view), true});
}

void Admission::join(ClusterId cluster, PendingWrites& writes, Outbox& outbox) {
  CHECK(cluster_.is_zero());
  cluster_ = cluster;
  founding_.close(outbox);
  seeds_.greet_all(outbox.now());
  writes.write({}, crdt::Environment::kId,
               {{std::string(kClusterKey), std::string(cluster.bytes())}}, outbox);
  outbox.emit(Severity::kInfo, "joined_cluster", {{"cluster", cluster.hex()}});
}

scheduler::FirstQuorum::FoundersKnown Admission::known_founders() const {
  scheduler::FirstQuorum::FoundersKnown known;
  if (roll_.founders_wanted() > 0) {
    for (const HostId host : roll_.founders()) {
      known.founders.push_back({host, !cluster_.is_zero()});
    }
  }
  return known;
}

void Admission::greet_seeds(const gossip::Envelope& greeting,
                            const membership::Membership& membership,
                            const crdt::AddressBook& addresses, const crdt::HostStore& store,
                            Outbox& outbox) {
  const auto is_named = [&](const gossip::Endpoint& seed) {
    const auto host = addresses.at(seed);
    const membership::Member* member = host ? membership.member(*host) : nullptr;
    return member != nullptr && member->state == membership::MemberState::kAlive;
  };
  const auto is_met = [&](const gossip::Endpoint& seed) {
    return is_named(seed) && seed_keys_.has_heard(seed);
  };
  const auto due = seeds_.due(outbox.now(), !cluster_.is_zero(), is_met);
  // Not the first one for all that boot together.
  const std::size_t asked = due.empty() ? 0 : (self_.prefix() + greetings_++) % due.size();
  for (std::size_t i = 0; i < due.size(); ++i) {
    const gossip::Endpoint& seed = due[i].seed;
    const bool is_first_word = !seed_keys_.has_heard(seed) && !due[i].is_owed;
    std::string body = store.introduction(i == asked || cluster_.is_zero());
    if (is_named(seed) && (cluster_.is_zero() || is_first_word)) {
      crdt::RowsBody question;  // Its own row is the shortest thing it always answers with.
      question.want = {*addresses.at(seed)};
      body = crdt::encode(question);
    }
    if (!is_met(seed)) {
      seed_keys_.choose(seed, addresses.at(seed).value_or(HostId()), roll_, outbox);
    }
    outbox.send_to(seed, gossip::Channel::kControl, gossip::encode(greeting, body));
  }
  if (seeds_.take_complaint(outbox.now())) {
    std::string seeds;
    for (const UnmetSeed& seed : seeds_.unmet()) {
      seeds += (seeds.empty() ? "" : ", ") + seed.endpoint.text() + " " +
               std::string(name_of(seed.silence));
    }
    outbox.emit(Severity::kWarn, "seeds_unmet",
                {{"seeds", seeds}, {"advice", "still trying; are they running?"}});
  }
}

}  // namespace muster::agent
