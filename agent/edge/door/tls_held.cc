#include "agent/edge/door/tls_held.h"

namespace muster::agent {
namespace {

/// Of a common name (ub-common-name of RFC 5280, appendix A).
constexpr std::size_t kCommonNameCharactersMax = 64;

/// The first characters, as many as a common name may have; no blank at the end.
std::string_view common_name_in(std::string_view text) {
  std::size_t characters = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (begins && ++characters > kCommonNameCharactersMax) {
      break;
    }
    ++end;
  }
  while (end > 0 && text[end - 1] == ' ') {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace

HeldKey empty_key() {
  gnutls_x509_privkey_t key = nullptr;
  return HeldKey(gnutls_x509_privkey_init(&key) < 0 ? nullptr : key);
}

HeldPublicKey empty_public_key() {
  gnutls_pubkey_t key = nullptr;
  return HeldPublicKey(gnutls_pubkey_init(&key) < 0 ? nullptr : key);
}

HeldCertificate empty_certificate() {
  gnutls_x509_crt_t certificate = nullptr;
  return HeldCertificate(gnutls_x509_crt_init(&certificate) < 0 ? nullptr : certificate);
}

Error no_memory() {
  return {ErrorCode::kIo, "cannot make a certificate: no memory is left"};
}

gnutls_datum_t datum_of(std::string_view text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          static_cast<unsigned int>(text.size())};
}

bool describe(GnutlsSteps& steps, gnutls_x509_crt_t certificate, CertificateHead head) {
  std::string key_id(kKeyIdBytesMax, '\0');
  std::size_t key_id_size = key_id.size();
  auto* const key_id_at = reinterpret_cast<unsigned char*>(key_id.data());
  const std::string_view name = common_name_in(head.common_name);
  // A number above zero (RFC 5280, 4.1.2.2), always as long.
  const auto first = static_cast<unsigned char>(head.serial.front());
  head.serial.front() = static_cast<char>((first & 0x3FU) | 0x40U);
  return steps.did(gnutls_x509_crt_set_version(certificate, 3)) &&
         steps.did(
             gnutls_x509_crt_set_serial(certificate, head.serial.data(), head.serial.size())) &&
         steps.did(gnutls_x509_crt_set_activation_time(certificate, head.begin_unix_s)) &&
         steps.did(gnutls_x509_crt_set_expiration_time(certificate, head.end_unix_s)) &&
         steps.did(gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
                                                 name.data(),
                                                 static_cast<unsigned int>(name.size()))) &&
         steps.did(gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA256, key_id_at,
                                              &key_id_size)) &&
         steps.did(gnutls_x509_crt_set_subject_key_id(certificate, key_id_at, key_id_size));
}

Result<std::string> exported(gnutls_x509_crt_t certificate) {
  GnutlsSteps steps;
  HeldBytes text;
  if (steps.did(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, text.get()))) {
    return text.text();
  }
  return steps.error("write a certificate");
}

Result<std::string> exported(gnutls_x509_privkey_t key) {
  GnutlsSteps steps;
  HeldBytes text;
  if (steps.did(gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, nullptr,
                                                  GNUTLS_PKCS_PLAIN, text.get()))) {
    return text.text();
  }
  return steps.error("write a key");
}

}  // namespace muster::agent
