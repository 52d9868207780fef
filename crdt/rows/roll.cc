#include "crdt/rows/roll.h"

#include "gossip/base/mutant.h"
#include "gossip/wire/transport.h"
#include "gossip/wire/wire.h"

namespace muster::crdt {

std::string encode(const RollRecord& record) {
  gossip::Encoder out;
  out.array(8).bytes(record.identity_key).bytes(record.link_key).u64(record.founders);
  out.boolean(record.may_vote).boolean(record.may_vouch).boolean(record.revoked);
  out.u64(record.key_round).u64(record.vote_set_under);
  return out.take();
}

std::optional<RollRecord> decode_roll(std::string_view bytes) {
  Result<gossip::Document> document = gossip::Document::parse(std::string(bytes));
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  RollRecord record;
  record.identity_key = in.text(gossip::kPublicKeyBytesMax);
  record.link_key = in.text(gossip::kLinkKeyBytes);
  record.founders = in.u64_at_most(kFoundersMax);
  record.may_vote = in.boolean();
  record.may_vouch = in.boolean();
  record.revoked = in.boolean();
  record.key_round = in.u64();
  record.vote_set_under = in.u64();
  if (!in.ok() || record.identity_key.empty() || record.link_key.empty()) {
    return std::nullopt;
  }
  return record;
}

std::string roll_words(HostId host, const RowVersion& version, std::string_view bytes) {
  gossip::Encoder out;
  out.array(5).text("muster roll 1").id(host);
  out.num(version.generation).num(version.sequence).bytes(bytes);
  return out.take();
}

Field signed_roll(HostId host, const RowVersion& version, const RollRecord& record,
                  const gossip::Signer& authority) {
  Field field{version, encode(record)};
  field.proof = authority.sign(roll_words(host, version, field.bytes));
  return field;
}

std::optional<RollRecord> proven_roll(HostId host, const Field& field, std::string_view authority,
                                      const gossip::Verifier& verifier) {
  std::optional<RollRecord> record = decode_roll(field.bytes);
  if (!record.has_value() || verifier.host_of(record->identity_key) != host) {
    return std::nullopt;
  }
  const bool is_signed =
      verifier.verify(authority, roll_words(host, field.version, field.bytes), field.proof);
  return is_signed || mutant(Mutant::kRollBelieved) ? record : std::nullopt;
}

}  // namespace muster::crdt
