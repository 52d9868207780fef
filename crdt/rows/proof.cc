#include "crdt/rows/proof.h"

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "gossip/wire/wire.h"

namespace muster::crdt {
namespace {

std::string field_words(std::uint32_t id, const Field& field) {
  gossip::Encoder out;
  out.array(4).u64(id).num(field.version.generation).num(field.version.sequence);
  out.bytes(field.bytes);
  return out.take();
}

/// The name at the front keeps these words apart from all others that the same key signs.
std::string signed_words(HostId host, std::string_view digests) {
  gossip::Encoder out;
  out.array(3).text("muster row 2").id(host).bytes(digests);
  return out.take();
}

/// Whether the list has the digest exactly once. An honest owner signs no digest twice.
bool names_once(std::string_view digests, std::string_view digest) {
  std::size_t times = 0;
  for (std::size_t at = 0; at < digests.size(); at += gossip::kDigestBytes) {
    times += digests.substr(at, gossip::kDigestBytes) == digest ? 1U : 0U;
  }
  return times == 1;
}

}  // namespace

std::size_t sign_together(HostId host, const std::vector<std::uint32_t>& fields, Row& row,
                          const gossip::Signer& owner) {
  CHECK(!fields.empty() && fields.size() <= kRowFieldsMax);
  if (mutant(Mutant::kSignatureAField) && fields.size() > 1) {
    for (const std::uint32_t id : fields) {
      sign_together(host, {id}, row, owner);
    }
    return fields.size();
  }
  std::string digests;
  for (const std::uint32_t id : fields) {
    digests += owner.digest(field_words(id, row.fields.at(id)));
  }
  std::string proof = owner.sign(signed_words(host, digests));
  CHECK(proof.size() == gossip::kSignatureBytes);
  if (fields.size() > 1) {
    proof += digests;
  }
  for (const std::uint32_t id : fields) {
    row.fields.at(id).proof = proof;
  }
  return 1;
}

std::optional<SignedDigests> signed_digests(HostId host, std::uint32_t id, const Field& field,
                                            const gossip::Verifier& verifier) {
  const std::string_view proof = field.proof;
  if (proof.size() < gossip::kSignatureBytes) {
    return std::nullopt;
  }
  const std::string own = verifier.digest(field_words(id, field));
  const std::string_view behind = proof.substr(gossip::kSignatureBytes);
  const bool is_alone = behind.empty();
  // A list of one digest would be a second form of the same proof, and other hosts would take it
  // for news.
  const bool is_list =
      behind.size() >= 2 * gossip::kDigestBytes && behind.size() % gossip::kDigestBytes == 0;
  if (!is_alone && (!is_list || !names_once(behind, own))) {
    return std::nullopt;
  }
  return SignedDigests{signed_words(host, is_alone ? std::string_view(own) : behind),
                       std::string(proof.substr(0, gossip::kSignatureBytes))};
}

bool is_proven(HostId host, std::uint32_t id, const Field& field, std::string_view owner,
               const gossip::Verifier& verifier) {
  const auto is = signed_digests(host, id, field, verifier);
  return is.has_value() && verifier.verify(owner, is->words, is->signature);
}

}  // namespace muster::crdt
