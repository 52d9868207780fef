#pragma once
// TlsFiles are the key and the certificates of HTTPS that a site gives by itself (https_key and
// https_cert), in place of those of the cluster's own authority. They are read at the start, and
// again when they change. New ones that cannot be used leave the old ones in force, and so does a
// certificate that does not hold now while the old one does.
//
// The tools of a site replace the two files one after another. Therefore a refusal is reported only
// if the next look finds the same reason again. While there is a reason, each look reads the files,
// so that a chmod helps at once.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "agent/edge/door/certificates.h"
#include "agent/edge/door/http_options.h"
#include "gossip/base/event.h"
#include "gossip/base/result.h"

struct stat;

namespace muster::agent {

struct TlsPaths {
  std::string certificates;  ///< https_cert: the own certificate first, then those of its issuers.
  std::string key;           ///< https_key
};

/// News of the files.
struct TlsChange {
  bool is_new = false;  ///< tls() changed: the door takes it for the connections that come.
  Event event{};        ///< For the log.
};

class TlsFiles {
 public:
  /// Of each file.
  static constexpr std::size_t kBytesMax = kPemBytesMax;

  /// Reads both. kNotFound: a file is not there. kDenied: the agent may not read it, or the key is
  /// open to other users of this machine or belongs to one of them. kInvalid: not a regular file,
  /// empty, above kBytesMax, not PEM, a key with a passphrase, or the two do not belong together.
  /// kIo: the system. Dates are not judged at the start: see facts().
  static Result<TlsFiles> open(TlsPaths paths);
  TlsFiles(TlsFiles&&) = default;
  TlsFiles& operator=(TlsFiles&&) = delete;
  /// Wipes the key.
  ~TlsFiles();

  const HttpTls& tls() const { return tls_; }
  /// Of the own certificate.
  const CertificateFacts& facts() const { return facts_; }

  /// To be called every few seconds, with the time of the clock of the day in seconds since 1970
  /// began; reads nothing while both files are as they were. The events:
  /// `https_certificate_taken` with fingerprint and until, `https_certificate_refused` with reason.
  /// nullopt if there is nothing to tell.
  std::optional<TlsChange> look(std::int64_t now_unix_s);

 private:
  /// Another file, or another text in it, or other rights to it.
  struct Mark {
    Mark() = default;
    explicit Mark(const struct stat& facts);

    bool operator==(const Mark&) const = default;

    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t modified_s = 0;
    std::int64_t modified_ns = 0;
    std::int64_t size = 0;
    std::uint32_t mode = 0;
    std::uint32_t owner = 0;
  };
  struct Marks {
    Mark certificates{};
    Mark key{};

    bool operator==(const Marks&) const = default;
  };

  explicit TlsFiles(TlsPaths paths) : paths_(std::move(paths)) {}

  /// An empty mark for a file that is not there.
  static Mark mark_at(const std::string& path);
  static Result<std::string> read_file(const std::string& path, bool is_secret, Mark& mark);
  /// Changes nothing if it fails. nullopt: dates are not judged.
  Status load(std::optional<std::int64_t> now_unix_s, bool& is_new);
  std::optional<TlsChange> refuse(const std::string& reason);

  TlsPaths paths_;
  HttpTls tls_{};
  CertificateFacts facts_{};
  Marks marks_{};             ///< Of the files that tls_ is from.
  std::string reason_{};      ///< Why the last look could not take them; "" if it could.
  bool is_reported_ = false;  ///< The reason is in the log.
};

}  // namespace muster::agent
