#pragma once
// HttpSigner signs certificates of HTTPS for a Node, which has no cryptography of its own. Its
// authority is derived from the secret of the cluster authority, for each call.

#include <cstdint>
#include <string>

#include "agent/api/certify.h"
#include "gossip/base/result.h"

namespace muster::agent {

class HttpSigner {
 public:
  virtual ~HttpSigner() = default;

  /// The authority of HTTPS of a cluster.
  struct Authority {
    std::string secret;   ///< Of the cluster authority.
    std::string cluster;  ///< The name that people read in the root certificate.
  };
  /// The root certificate, the same on each host that has the secret. kInvalid: the secret is no
  /// secret. kIo: no memory.
  virtual Result<std::string> root(const Authority& authority) const = 0;
  /// A certificate for the key and all names of `wish`. kInvalid: a name or the key is not valid,
  /// or the clock is wrong. kIo: no memory. Safe for any wish.
  virtual Result<std::string> certify(const Authority& authority, const CertifyArgs& wish,
                                      std::int64_t now_unix_s) const = 0;
  /// The DNS domain of the host that signs: names of other hosts may end with it, and with no
  /// other.
  /// "" = it has none.
  virtual std::string domain() const = 0;
  /// SHA-256 of the first certificate in a PEM text, for people; "" if there is no certificate.
  virtual std::string fingerprint(const std::string& pem) const = 0;
};

}  // namespace muster::agent
