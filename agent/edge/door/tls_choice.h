#pragma once
// TlsChoice is the key and the certificates that the next handshakes of a server take. A handshake
// goes on with those that it began with, whatever is chosen meanwhile: see TlsWatch.
//
// Thread safe.

#include <memory>
#include <mutex>

#include "agent/edge/door/http_options.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// A key and certificates as GnuTLS takes them; never changed. The last owner wipes the key.
struct TlsPair;

class TlsChoice {
 public:
  /// Changes nothing if it fails. kInvalid: as check_tls(). kIo: no memory.
  Status set(const HttpTls& tls);
  /// nullptr before the first set().
  std::shared_ptr<const TlsPair> now() const;

  /// The callback of MHD_OPTION_HTTPS_CERT_CALLBACK, by which a handshake takes the pair of its
  /// TlsWatch.
  static void* callback();

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsPair> now_;
};

}  // namespace muster::agent
