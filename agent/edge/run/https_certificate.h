#pragma once
// HttpsCertificate is the key and certificate that the door of HTTPS shows: of the files of a site,
// or of an authority that this host made for itself and keeps in its data directory:
//
//   https/authority.pem   key and root certificate; made once, and again half a year before its end
//   https/root.pem        the root certificate alone, for the clients that shall trust it
//   https/host.pem        key and certificate of this host; made again when it is due
//
// All have mode 0600. Used by one thread.

#include <cstdint>
#include <optional>
#include <string>

#include "agent/edge/door/certificates.h"
#include "agent/edge/door/http_options.h"
#include "agent/edge/door/tls_files.h"
#include "gossip/base/result.h"

namespace muster::agent {

class HttpsCertificate {
 public:
  struct Options {
    TlsPaths site{};          ///< "" both = the host makes its own.
    std::string directory{};  ///< Of its own ones; made if it is missing.
    std::string authority{};  ///< The name that people read in the root certificate.
    HostNames names{};        ///< Of its own certificate.
  };

  /// Errors of TlsFiles::open() for a site. Otherwise kInvalid or kDenied: the authority cannot be
  /// used, or the clock is wrong; the text says what to do. kIo: the system.
  static Result<HttpsCertificate> open(Options options, std::int64_t now_unix_s);
  HttpsCertificate(HttpsCertificate&&) = default;
  HttpsCertificate& operator=(HttpsCertificate&&) = delete;
  /// Wipes the key.
  ~HttpsCertificate();

  const HttpTls& tls() const { return site_.has_value() ? site_->tls() : own_; }
  const CertificateFacts& facts() const { return site_.has_value() ? site_->facts() : facts_; }
  /// The file with the root that clients shall trust; "" for a site, which has its own.
  std::string root_path() const;

  /// To be called every few seconds: takes the new files of a site, and makes a certificate of its
  /// own again that is due. As TlsFiles::look().
  std::optional<TlsChange> look(std::int64_t now_unix_s);

 private:
  explicit HttpsCertificate(Options options) : options_(std::move(options)) {}

  Status load_own(std::int64_t now_unix_s);
  Result<HttpTls> authority(std::int64_t now_unix_s, bool& is_new) const;
  /// False: no certificate on disk can be used.
  bool take_kept(std::int64_t now_unix_s);
  std::string path_of(const char* name) const { return options_.directory + "/" + name; }

  Options options_;
  std::optional<TlsFiles> site_{};
  HttpTls own_{};
  CertificateFacts facts_{};
  std::string told_{};  ///< The reason of the last failure; "" = the last look was good.
};

}  // namespace muster::agent
