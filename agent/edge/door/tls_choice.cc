#include "agent/edge/door/tls_choice.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <string>
#include <utility>
#include <vector>

#include "agent/edge/door/tls_watch.h"

namespace muster::agent {

struct TlsPair {
  TlsPair() = default;
  TlsPair(const TlsPair&) = delete;
  TlsPair& operator=(const TlsPair&) = delete;
  ~TlsPair() {
    for (gnutls_pcert_st& each : certificates) {
      gnutls_pcert_deinit(&each);
    }
    if (key != nullptr) {
      gnutls_privkey_deinit(key);
    }
  }

  std::vector<gnutls_pcert_st> certificates{};
  gnutls_privkey_t key = nullptr;
};

namespace {

gnutls_datum_t pem_datum(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          static_cast<unsigned int>(text.size())};
}

/// The code of GnuTLS.
int read_certificates(const std::string& pem, std::vector<gnutls_pcert_st>& certificates) {
  const gnutls_datum_t text = pem_datum(pem);
  gnutls_x509_crt_t* parsed = nullptr;
  unsigned int count = 0;
  int code = gnutls_x509_crt_list_import2(&parsed, &count, &text, GNUTLS_X509_FMT_PEM, 0);
  if (code < 0) {
    return code;
  }
  certificates.resize(count);
  // Leaves out those that do not lead from the first to an authority.
  unsigned int taken = count;
  code =
      gnutls_pcert_import_x509_list(certificates.data(), parsed, &taken, GNUTLS_X509_CRT_LIST_SORT);
  certificates.resize(code < 0 ? 0 : taken);
  for (unsigned int i = 0; i < count; ++i) {
    gnutls_x509_crt_deinit(parsed[i]);
  }
  gnutls_free(parsed);
  return code;
}

int read_key(const std::string& pem, gnutls_privkey_t& key) {
  const gnutls_datum_t text = pem_datum(pem);
  const int code = gnutls_privkey_init(&key);
  return code < 0 ? code
                  : gnutls_privkey_import_x509_raw(key, &text, GNUTLS_X509_FMT_PEM, nullptr, 0);
}

/// Called by GnuTLS in each handshake.
int choose(gnutls_session_t session, const gnutls_datum_t*, int, const gnutls_pk_algorithm_t*, int,
           gnutls_pcert_st** certificates, unsigned int* count, gnutls_privkey_t* key) {
  gnutls_transport_ptr_t watch = nullptr;
  gnutls_transport_ptr_t socket = nullptr;
  gnutls_transport_get_ptr2(session, &watch, &socket);
  const TlsPair* pair = static_cast<TlsWatch*>(watch)->pair();
  if (pair == nullptr) {
    return -1;
  }
  // GnuTLS only reads them, and frees neither.
  *certificates = const_cast<gnutls_pcert_st*>(pair->certificates.data());
  *count = static_cast<unsigned int>(pair->certificates.size());
  *key = pair->key;
  return 0;
}

}  // namespace

Status TlsChoice::set(const HttpTls& tls) {
  if (const Status good = check_tls(tls); !good) {
    return good;
  }
  const auto pair = std::make_shared<TlsPair>();
  int code = read_certificates(tls.certificates, pair->certificates);
  if (code >= 0) {
    code = read_key(tls.key, pair->key);
  }
  if (code < 0) {
    return Error{code == GNUTLS_E_MEMORY_ERROR ? ErrorCode::kIo : ErrorCode::kInvalid,
                 std::string("cannot use the key and certificate of HTTPS: ") +
                     gnutls_strerror(code) +
                     "; give both in PEM, the own certificate first, and at most 15 that lead to "
                     "its authority"};
  }
  std::shared_ptr<const TlsPair> before = pair;
  {
    const std::lock_guard lock(mutex_);
    std::swap(now_, before);
  }
  return ok();
}

std::shared_ptr<const TlsPair> TlsChoice::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void* TlsChoice::callback() {
  return reinterpret_cast<void*>(&choose);
}

}  // namespace muster::agent
