#include "agent/edge/run/derived_signer.h"

#include <utility>

#include "agent/edge/door/certificates.h"
#include "agent/edge/door/tls_authority.h"
#include "gossip/ssh/ssh_private_key.h"

namespace muster::agent {

DerivedSigner::~DerivedSigner() {
  gossip::wipe(from_.secret);
  gossip::wipe(tls_.key);
}

Result<std::string> DerivedSigner::root(const Authority& authority) const {
  const Status derived = derive(authority);
  return derived ? Result<std::string>(tls_.certificates) : Result<std::string>(derived.error());
}

Result<std::string> DerivedSigner::certify(const Authority& authority, const CertifyArgs& wish,
                                           std::int64_t now_unix_s) const {
  const Status derived = derive(authority);
  return derived ? sign_host(tls_, wish.public_key, {wish.dns, wish.addresses}, now_unix_s)
                 : Result<std::string>(derived.error());
}

std::string DerivedSigner::fingerprint(const std::string& pem) const {
  const Result<CertificateFacts> facts = facts_of(pem);
  return facts ? facts->fingerprint : "";
}

Status DerivedSigner::derive(const Authority& authority) const {
  if (!from_.secret.empty() && from_.secret == authority.secret &&
      from_.cluster == authority.cluster) {
    return ok();
  }
  Result<HttpTls> derived = derive_authority(authority.secret, authority.cluster);
  if (!derived) {
    return derived.error();
  }
  gossip::wipe(from_.secret);
  gossip::wipe(tls_.key);
  from_ = authority;
  tls_ = *std::move(derived);
  return ok();
}

}  // namespace muster::agent
