#include "crdt/rows/link_cert.h"

#include <utility>

#include "gossip/base/signing.h"
#include "gossip/wire/transport.h"
#include "gossip/wire/wire.h"

namespace muster::crdt {

namespace {

void write(gossip::Encoder& out, const LinkProof& proof) {
  out.array(2).bytes(proof.signing_key).bytes(proof.signature);
}

LinkProof read_proof(gossip::Reader& in) {
  gossip::Reader elements = in.array();
  std::string key = elements.text(gossip::kPublicKeyBytesMax);
  return {std::move(key), elements.text(gossip::kSignatureBytes)};
}

bool is_of(HostId host, const std::string& key, const LinkProof& proof,
           const gossip::Verifier& verifier) {
  return verifier.link_key_of(proof.signing_key) == key &&
         verifier.verify(proof.signing_key, link_words(host, key), proof.signature);
}

}  // namespace

std::string encode(const LinkCert& cert) {
  gossip::Encoder out;
  out.array(7).bytes(cert.base).u64(cert.serial).bytes(cert.key).bytes(cert.next).u64(cert.round);
  write(out, cert.key_proof);
  write(out, cert.next_proof);
  return out.take();
}

std::string link_words(HostId host, std::string_view key) {
  return gossip::Encoder().array(3).text("muster link 1").id(host).bytes(key).take();
}

LinkProof proof_of(HostId host, std::string_view key, const gossip::Signer& link_signer) {
  return {std::string(link_signer.public_key()), link_signer.sign(link_words(host, key))};
}

bool is_proven(HostId host, const LinkCert& cert, const gossip::Verifier& verifier) {
  return (cert.key == cert.base || is_of(host, cert.key, cert.key_proof, verifier)) &&
         (cert.next.empty() || is_of(host, cert.next, cert.next_proof, verifier));
}

std::optional<LinkCert> decode_link_cert(std::string_view bytes) {
  Result<gossip::Document> document = gossip::Document::parse(std::string(bytes));
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  LinkCert cert;
  cert.base = in.text(gossip::kLinkKeyBytes);
  cert.serial = in.u64();
  cert.key = in.text(gossip::kLinkKeyBytes);
  cert.next = in.text(gossip::kLinkKeyBytes);
  cert.round = in.u64();
  cert.key_proof = read_proof(in);
  cert.next_proof = read_proof(in);
  return in.ok() && !cert.key.empty() ? std::optional(std::move(cert)) : std::nullopt;
}

LinkCert link_of(const RollRecord& record, const std::optional<LinkCert>& cert) {
  return cert.has_value() && cert->base == record.link_key
             ? *cert
             : LinkCert{record.link_key, 0, record.link_key, "", 0, {}, {}};
}

}  // namespace muster::crdt
