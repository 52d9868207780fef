#include "agent/node/link_rotation.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

/// Its own record as it was when this host joined.
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
    step_ = Step::kTold;
    told_until_ = now + kToldMax;
    ask_at_ = told_until_;
  }
}

void LinkRotation::publish(Instant now, crdt::HostStore& store) {
  const crdt::LinkCert cert{record_.base,
                            record_.serial,
                            key_of(record_.seed),
                            key_of(record_.next_seed),
                            record_.round,
                            proof_of(record_.seed),
                            proof_of(record_.next_seed)};
  store.step(now, crdt::Publish{crdt::FieldId::kLink, crdt::encode(cert), true});
  if (const crdt::Field* field = store.field(self_, crdt::FieldId::kLink)) {
    told_version_ = field->version;
  }
}

void LinkRotation::on_record(const crdt::RollRecord& record, PendingWrites& writes,
                             Outbox& outbox) {
  wanted_round_ = std::max(wanted_round_, record.key_round);
  if (step_ == Step::kNone && wanted_round_ > record_.round) {
    make(writes, outbox);
  }
}

void LinkRotation::make(PendingWrites& writes, Outbox& outbox) {
  CHECK(step_ == Step::kNone);
  record_.next_seed = maker_->make_seed();
  write(Step::kMaking, writes, outbox);
}

void LinkRotation::write(Step step, PendingWrites& writes, Outbox& outbox) {
  step_ = step;
  writes.write({WriteOwner::kLink, ++written_}, crdt::Environment::kId, writes_of(record_), outbox);
}

bool LinkRotation::on_persisted(Instant now, std::uint64_t step, std::set<HostId> peers,
                                crdt::HostStore& store, Outbox& outbox) {
  CHECK(step == written_);
  if (step_ == Step::kMaking) {
    step_ = Step::kTold;
    publish(now, store);
    waits_for_ = std::move(peers);
    waits_for_.erase(self_);
    told_until_ = now + kToldMax;
    ask_at_ = waits_for_.empty() ? now : now + kAskPeriod;
    return false;
  }
  CHECK(step_ == Step::kTaking);
  step_ = Step::kNone;
  outbox.tell(gossip::Rekey{record_.seed});
  publish(now, store);
  outbox.emit(Severity::kInfo, "link_key_changed",
              {{"serial", std::to_string(record_.serial)},
               {"round", std::to_string(record_.round)}});
  return true;
}

void LinkRotation::on_seen(const std::vector<std::pair<HostId, crdt::RowVersion>>& seen) {
  for (const auto& [host, version] : seen) {
    if (step_ == Step::kTold && version >= told_version_ && waits_for_.erase(host) != 0 &&
        waits_for_.empty()) {
      ask_at_ = kLongAgo;
    }
  }
}

Instant LinkRotation::next_deadline() const {
  const bool is_wished_again = step_ == Step::kNone && wanted_round_ > record_.round;
  return step_ == Step::kTold ? ask_at_ : is_wished_again ? kLongAgo : kNever;
}

std::vector<HostId> LinkRotation::tick(Instant now, PendingWrites& writes, Outbox& outbox) {
  if (step_ == Step::kNone && wanted_round_ > record_.round) {
    make(writes, outbox);  // It was wished for once more while the last change was being written.
  }
  if (step_ != Step::kTold) {
    return {};
  }
  if (!waits_for_.empty() && now < told_until_) {
    ask_at_ = std::min(now + kAskPeriod, told_until_);
    return {waits_for_.begin(), waits_for_.end()};
  }
  if (!waits_for_.empty()) {
    outbox.emit(Severity::kWarn, "link_key_not_heard",
                {{"hosts", std::to_string(waits_for_.size())},
                 {"first", waits_for_.begin()->short_hex()}});
  }
  waits_for_.clear();
  record_.previous_seed = std::exchange(record_.seed, std::exchange(record_.next_seed, ""));
  ++record_.serial;
  record_.round = wanted_round_;
  write(Step::kTaking, writes, outbox);
  return {};
}

}  // namespace muster::agent
