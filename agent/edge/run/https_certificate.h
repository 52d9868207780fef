#pragma once
// HttpsCertificate is the key and certificate that the door of HTTPS shows: of the files of a site,
// or one of the cluster's authority, which this host keeps in its data directory:
//
//   https/host.pem   a line of our own, the key, the certificate of this host
//   https/root.pem   the root certificate, for the clients that shall trust it
//
// Both have mode 0600. The key is made here and never leaves the host: a voter signs its public
// key (agent/node/certifying.h). Until that came for the first time there is no certificate. Used
// by one thread.

#include <cstdint>
#include <optional>
#include <string>

#include "agent/api/certify.h"
#include "agent/edge/door/certificates.h"
#include "agent/edge/door/http_options.h"
#include "agent/edge/door/tls_files.h"
#include "gossip/base/result.h"

namespace muster::agent {

class HttpsCertificate {
 public:
  struct Options {
    TlsPaths site{};          ///< "" both = one of the cluster's authority.
    std::string directory{};  ///< Of that one; made if it is missing.
    HostNames names{};        ///< That it asks for.
  };

  /// Errors of TlsFiles::open() for a site. kIo: the directory cannot be made. A kept certificate
  /// that cannot be used is as good as none.
  static Result<HttpsCertificate> open(Options options);
  HttpsCertificate(HttpsCertificate&&) = default;
  HttpsCertificate& operator=(HttpsCertificate&&) = delete;
  /// Wipes the keys.
  ~HttpsCertificate();

  /// Without it tls() and facts() are empty.
  bool has_any() const { return !tls().certificates.empty(); }
  const HttpTls& tls() const { return site_.has_value() ? site_->tls() : own_; }
  const CertificateFacts& facts() const { return site_.has_value() ? site_->facts() : facts_; }
  /// The file with the root that clients shall trust; "" for a site, which has its own.
  std::string root_path() const;
  /// The root certificate; "" for a site, or as long as it is not known.
  const std::string& root() const { return root_; }

  /// To be called every few seconds: takes the new files of a site. As TlsFiles::look().
  std::optional<TlsChange> look(std::int64_t now_unix_s);
  /// The wish that a voter shall sign now, for there is no certificate, or it is due, or another
  /// `authority` rules than the one it is of. nullopt: nothing. kIo: no key can be made.
  Result<std::optional<CertifyArgs>> wish(std::int64_t now_unix_s, std::uint64_t authority);
  /// The answer to wish(). nullopt if it answers nothing.
  std::optional<TlsChange> take(const CertifiedInfo& certified);
  /// Why there was no answer: told in the log once.
  std::optional<TlsChange> refuse(const std::string& why);

 private:
  /// The line in host.pem.
  struct Origin {
    std::uint64_t authority = 0;  ///< The number of the cluster authority; 0 = not known.
    std::string asked;            ///< The names that were asked for.
    bool operator==(const Origin&) const = default;
  };

  explicit HttpsCertificate(Options options) : options_(std::move(options)) {}

  void take_kept();
  Status keep(const CertifiedInfo& certified, const HttpTls& tls, const Origin& origin) const;
  std::string path_of(const char* name) const { return options_.directory + "/" + name; }

  Options options_;
  std::optional<TlsFiles> site_{};
  HttpTls own_{};
  CertificateFacts facts_{};
  Origin origin_{};
  std::string root_{};
  std::string next_key_{};  ///< Of the question that is open; "" = no question is.
  std::string told_{};      ///< The reason of the last failure; "" = the last look was good.
};

}  // namespace muster::agent
