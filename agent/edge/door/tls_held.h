#pragma once
// Parts that certificates.cc and tls_authority.cc share: things of GnuTLS with an owner, calls of
// it in a row, and what each certificate says first. Included by the two alone.

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gossip/base/result.h"

namespace muster::agent {

inline constexpr std::size_t kSerialBytes = 16;
inline constexpr std::size_t kKeyIdBytesMax = 64;

template <class T, void (*kRelease)(T)>
struct Releaser {
  using pointer = T;
  void operator()(T held) const { kRelease(held); }
};
/// Wipes the key at its end.
using HeldKey = std::unique_ptr<std::remove_pointer_t<gnutls_x509_privkey_t>,
                                Releaser<gnutls_x509_privkey_t, gnutls_x509_privkey_deinit>>;
using HeldPublicKey = std::unique_ptr<std::remove_pointer_t<gnutls_pubkey_t>,
                                      Releaser<gnutls_pubkey_t, gnutls_pubkey_deinit>>;
using HeldCertificate = std::unique_ptr<std::remove_pointer_t<gnutls_x509_crt_t>,
                                        Releaser<gnutls_x509_crt_t, gnutls_x509_crt_deinit>>;

/// nullptr: no memory.
HeldKey empty_key();
HeldPublicKey empty_public_key();
HeldCertificate empty_certificate();
Error no_memory();

/// Bytes that GnuTLS gave away; wiped at its end.
class HeldBytes {
 public:
  HeldBytes() = default;
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  ~HeldBytes() {
    if (datum_.data != nullptr) {
      gnutls_memset(datum_.data, 0, datum_.size);
      gnutls_free(datum_.data);
    }
  }
  gnutls_datum_t* get() { return &datum_; }
  std::string text() const { return {reinterpret_cast<const char*>(datum_.data), datum_.size}; }
  std::size_t size() const { return datum_.size; }

 private:
  gnutls_datum_t datum_{};
};

/// Valid as long as `text`.
gnutls_datum_t datum_of(std::string_view text);

/// Calls of GnuTLS in a row, joined by &&: the first that fails is kept.
class GnutlsSteps {
 public:
  bool did(int code) {
    code_ = code;
    return code >= 0;
  }
  Error error(const std::string& what) const {
    return {ErrorCode::kIo, "cannot " + what + ": " + gnutls_strerror(code_) + "; try again"};
  }

 private:
  int code_ = 0;
};

/// The facts that a certificate says of itself.
struct CertificateHead {
  std::string serial;       ///< kSerialBytes; made a number above zero, always as long.
  std::string common_name;  ///< The first characters of it, as many as one may have.
  std::int64_t begin_unix_s = 0;
  std::int64_t end_unix_s = 0;
};
/// For both kinds of certificates; the key is in it already.
bool describe(GnutlsSteps& steps, gnutls_x509_crt_t certificate, CertificateHead head);

/// In PEM.
Result<std::string> exported(gnutls_x509_crt_t certificate);
Result<std::string> exported(gnutls_x509_privkey_t key);

}  // namespace muster::agent
