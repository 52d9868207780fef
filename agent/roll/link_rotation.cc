#include "agent/roll/link_rotation.h"

#include <algorithm>
#include <iterator>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

/// The own record with which this host joined.
crdt::RollRecord joined_as(HostId self, const Credentials& credentials) {
  for (const auto& [host, field] : credentials.records) {
    if (host == self) {
      return crdt::decode_roll(field.bytes).value_or(crdt::RollRecord());
    }
  }
  return {};
}

}  // namespace

LinkRotation::LinkRotation(HostId self, const Credentials& credentials,
                           const crdt::Records& id_records)
    : self_(self), maker_(credentials.key_maker) {
  const crdt::RollRecord joined = joined_as(self, credentials);
  record_ = {joined.link_key, 0, credentials.link_seed, "", "", joined.key_round};
  if (auto kept = link_record_in(id_records); kept.has_value() && kept->base == record_.base) {
    record_ = *std::move(kept);
  }
  wanted_round_ = record_.round;
}

std::string LinkRotation::key_of(const std::string& seed) const {
  return seed.empty() ? "" : maker_->link_key_of(seed);
}

crdt::LinkProof LinkRotation::proof_of(const std::string& seed) const {
  const auto signer = maker_->signer_of(seed);
  return signer == nullptr || key_of(seed) == record_.base
             ? crdt::LinkProof()
             : crdt::proof_of(self_, key_of(seed), *signer);
}

void LinkRotation::begin(Instant now, crdt::HostStore& store) {
  if (record_.serial == 0 && record_.next_seed.empty() && record_.round == 0) {
    return;
  }
  publish(now, store);
  if (!record_.next_seed.empty()) {
    tell(now);
  }
}

void LinkRotation::tell(Instant now) {
  step_ = Step::kTold;
  told_until_ = now + kToldMax;
  ask_at_ = now + kAskPeriod;
}

void LinkRotation::publish(Instant now, crdt::HostStore& store) {
  const crdt::LinkCert cert{
      record_.base,  record_.serial,         key_of(record_.seed),       key_of(record_.next_seed),
      record_.round, proof_of(record_.seed), proof_of(record_.next_seed)};
  store.step(now, crdt::Publish{crdt::FieldId::kLink, crdt::encode(cert), true});
  if (const crdt::Field* field = store.field(self_, crdt::FieldId::kLink)) {
    told_version_ = field->version;
  }
  heard_ = {self_};
  waits_for_.clear();
}

void LinkRotation::on_record(const crdt::RollRecord& record, Outbox& outbox) {
  wanted_round_ = std::max(wanted_round_, record.key_round);
  if (step_ == Step::kNone && wanted_round_ > record_.round) {
    make(outbox);
  }
}

void LinkRotation::make(Outbox& outbox) {
  CHECK(step_ == Step::kNone);
  record_.next_seed = maker_->make_seed();
  write(Step::kMaking, outbox);
}

void LinkRotation::write(Step step, Outbox& outbox) {
  step_ = step;
  outbox.write({WriteOwner::kLink, ++written_}, crdt::Environment::kId, writes_of(record_));
}

bool LinkRotation::on_persisted(Instant now, std::uint64_t step, crdt::HostStore& store,
                                Outbox& outbox) {
  CHECK(step == written_);
  if (step_ == Step::kMaking) {
    publish(now, store);
    tell(now);
    return false;
  }
  CHECK(step_ == Step::kTaking);
  step_ = Step::kNone;
  outbox.tell(gossip::Rekey{record_.seed});
  publish(now, store);
  outbox.emit(
      Severity::kInfo, "link_key_changed",
      {{"serial", std::to_string(record_.serial)}, {"round", std::to_string(record_.round)}});
  return true;
}

void LinkRotation::on_seen(const std::vector<std::pair<HostId, crdt::RowVersion>>& seen) {
  for (const auto& [host, version] : seen) {
    if (step_ != Step::kTold || version < told_version_) {
      continue;
    }
    heard_.insert(host);
    if (waits_for_.erase(host) != 0 && waits_for_.empty()) {
      ask_at_ = kLongAgo;
    }
  }
}

Instant LinkRotation::next_deadline() const {
  const bool is_wished_again = step_ == Step::kNone && wanted_round_ > record_.round;
  return step_ == Step::kTold ? ask_at_ : is_wished_again ? kLongAgo : kNever;
}

template <class Hosts>
std::set<HostId> LinkRotation::deaf(const Hosts& hosts) const {
  std::set<HostId> deaf;
  std::copy_if(hosts.begin(), hosts.end(), std::inserter(deaf, deaf.end()),
               [&](HostId host) { return !heard_.contains(host); });
  return deaf;
}

bool LinkRotation::have_most_heard(const std::vector<HostId>& voters) const {
  return 2 * deaf(voters).size() < voters.size();
}

std::vector<HostId> LinkRotation::tick(Instant now, const Audience& audience, Outbox& outbox) {
  if (step_ == Step::kNone && wanted_round_ > record_.round) {
    make(outbox);  // The roll asked for another key while the last change was being written.
  }
  if (step_ != Step::kTold) {
    return {};
  }
  const std::set<HostId> deaf_peers = deaf(audience.peers);
  const bool is_late = now >= told_until_;
  if (have_most_heard(audience.voters) && (is_late || deaf_peers.empty())) {
    if (!deaf_peers.empty()) {
      outbox.emit(Severity::kWarn, "link_key_not_heard",
                  {{"hosts", std::to_string(deaf_peers.size())},
                   {"first", deaf_peers.begin()->short_hex()}});
    }
    take(outbox);
    return {};
  }
  waits_for_ = is_late ? std::set<HostId>() : deaf_peers;
  if (!have_most_heard(audience.voters)) {
    waits_for_.merge(deaf(audience.voters));
  }
  ask_at_ = is_late ? now + kAskVotersPeriod : std::min(now + kAskPeriod, told_until_);
  return {waits_for_.begin(), waits_for_.end()};
}

void LinkRotation::take(Outbox& outbox) {
  record_.previous_seed = std::exchange(record_.seed, std::exchange(record_.next_seed, ""));
  ++record_.serial;
  record_.round = wanted_round_;
  write(Step::kTaking, outbox);
}

}  // namespace muster::agent
