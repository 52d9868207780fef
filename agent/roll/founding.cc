#include "agent/roll/founding.h"

#include <algorithm>

#include "crdt/rows/roll.h"
#include "gossip/base/mutant.h"
#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

/// The table in id/ of the founders that this host recorded; the host id follows it.
constexpr std::string_view kFounderTable = "founder/";
constexpr crdt::RowVersion kFirstEdition{Generation(1), Sequence(1)};

}  // namespace

std::optional<HostId> proven_joiner(const JoinArgs& join, const gossip::Verifier& verifier) {
  if (!verifier.verify(join.identity_key, join_words(join), join.signature) &&
      !mutant(Mutant::kJoinUnproven)) {
    return std::nullopt;
  }
  const HostId host = verifier.host_of(join.identity_key);
  return host.is_zero() ? std::nullopt : std::optional(host);
}

Founding::Founding(const Credentials& credentials, const crdt::Records& id_records)
    : ticket_(credentials.founding_ticket),
      founders_(credentials.founders),
      authority_(credentials.authority_signer),
      verifier_(credentials.verifier) {
  for (const auto& [key, value] : id_records) {
    if (key.starts_with(kFounderTable)) {
      const auto row = crdt::decode_row(value);
      const crdt::Field* field = row.has_value() ? row->field(crdt::FieldId::kRoll) : nullptr;
      if (field != nullptr) {
        recorded_.emplace_back(
            HostId::from_bytes(std::string_view(key).substr(kFounderTable.size())), *field);
      }
    }
  }
}

void Founding::open(Outbox& outbox) const {
  if (is_open()) {
    outbox.tell(gossip::Admit{ticket_, {gossip::Sender::Kind::kTicket, {}, ticket_}});
  }
}

void Founding::close(Outbox& outbox) {
  if (is_open()) {
    outbox.tell(gossip::Admit{ticket_, {}});
    ticket_.clear();
  }
}

Result<crdt::Field> Founding::record(Instant now, const JoinArgs& join, const Roll& roll,
                                     crdt::HostStore& store, Outbox& outbox) {
  if (!is_open() || join.ticket != ticket_) {
    return Error{ErrorCode::kConflict, "the ticket belongs to another cluster"};
  }
  const std::optional<HostId> host = proven_joiner(join, *verifier_);
  if (!host.has_value()) {
    return Error{ErrorCode::kInvalid, "the host does not prove its identity"};
  }
  const auto before = std::find_if(recorded_.begin(), recorded_.end(),
                                   [&](const auto& each) { return each.first == *host; });
  crdt::RowVersion version = kFirstEdition;
  if (before != recorded_.end()) {
    const auto said = crdt::decode_roll(before->second.bytes);
    if (said.has_value() && said->link_key == join.link_key) {
      return before->second;  // The first answer was lost.
    }
    version = {before->second.version.generation, before->second.version.sequence.next()};
  } else if (roll.founders().size() >= founders_) {
    return Error{ErrorCode::kConflict,
                 "the cluster has all its founders: wait until it is founded, then make a ticket "
                 "there with `muster ticket`"};
  }
  crdt::RollRecord record;
  record.identity_key = join.identity_key;
  record.link_key = join.link_key;
  record.founders = founders_;
  record.may_vote = true;
  record.may_vouch = true;
  crdt::Row row;
  crdt::Field field = crdt::signed_roll(*host, version, record, *authority_);
  row.fields[static_cast<std::uint32_t>(crdt::FieldId::kRoll)] = field;
  outbox.write({}, crdt::Environment::kId,
               {{std::string(kFounderTable) + std::string(host->bytes()), crdt::encode_row(row)}});
  if (before != recorded_.end()) {
    before->second = field;
  } else {
    recorded_.emplace_back(*host, field);
  }
  store.step(now, crdt::Vouch{*host, field});
  outbox.emit(Severity::kInfo, "founder_met", {{"host", host->short_hex()}, {"name", join.name}});
  return field;
}

}  // namespace muster::agent
