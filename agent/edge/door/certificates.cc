#include "agent/edge/door/certificates.h"

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "agent/edge/door/tls_watch.h"
#include "gossip/base/name.h"

namespace muster::agent {
namespace {

constexpr std::int64_t kEarliestUnixS = 1'704'067'200;  // 2024-01-01
constexpr std::int64_t kLatestUnixS = 4'102'444'800;    // 2100-01-01
constexpr std::size_t kSerialBytes = 16;
constexpr std::size_t kKeyIdBytesMax = 64;
constexpr std::size_t kDnsNameBytesMax = 253;
constexpr std::size_t kDnsLabelBytesMax = 63;
/// Of a common name (ub-common-name of RFC 5280, appendix A).
constexpr std::size_t kCommonNameCharactersMax = 64;
/// A longer name in a certificate is left out: no client asks for it.
constexpr std::size_t kReadNameBytesMax = 1024;

template <class T, void (*kRelease)(T)>
struct Releaser {
  using pointer = T;
  void operator()(T held) const { kRelease(held); }
};
/// Wipes the key at its end.
using HeldKey = std::unique_ptr<std::remove_pointer_t<gnutls_x509_privkey_t>,
                                Releaser<gnutls_x509_privkey_t, gnutls_x509_privkey_deinit>>;
using HeldCertificate = std::unique_ptr<std::remove_pointer_t<gnutls_x509_crt_t>,
                                        Releaser<gnutls_x509_crt_t, gnutls_x509_crt_deinit>>;

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

gnutls_datum_t datum_of(std::string_view text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          static_cast<unsigned int>(text.size())};
}

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

HeldKey empty_key() {
  gnutls_x509_privkey_t key = nullptr;
  return HeldKey(gnutls_x509_privkey_init(&key) < 0 ? nullptr : key);
}

HeldCertificate empty_certificate() {
  gnutls_x509_crt_t certificate = nullptr;
  return HeldCertificate(gnutls_x509_crt_init(&certificate) < 0 ? nullptr : certificate);
}

Error no_memory() {
  return {ErrorCode::kIo, "cannot make a certificate: no memory is left"};
}

Status check_clock(std::int64_t now_unix_s) {
  if (now_unix_s >= kEarliestUnixS && now_unix_s < kLatestUnixS) {
    return ok();
  }
  return Error{ErrorCode::kInvalid, "the clock of this host shows " + date_text(now_unix_s) +
                                        ", and no browser would accept a certificate of that day; "
                                        "set the clock"};
}

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

/// Four or sixteen bytes; nullopt if it is no numeric address.
std::optional<std::string> address_bytes(const std::string& text) {
  std::array<char, 16> bytes{};
  if (std::strlen(text.c_str()) != text.size()) {
    return std::nullopt;
  }
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    return std::string(bytes.data(), 4);
  }
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) {
    return std::nullopt;
  }
  constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  const std::string_view all(bytes.data(), bytes.size());
  return std::string(all.starts_with(kMapped) ? all.substr(kMapped.size()) : all);
}

/// nullopt if it has neither four nor sixteen bytes.
std::optional<std::string> address_text(std::string_view bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (bytes.size() != 4 && bytes.size() != 16) {
    return std::nullopt;
  }
  inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text.data(), INET6_ADDRSTRLEN);
  return std::string(text.data());
}

/// Letters, digits and -_ in labels with dots between; not an address.
bool is_dns_name(const std::string& name) {
  std::size_t label = 0;
  for (const char letter : name) {
    const bool is_of_label = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                             (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
    if (letter == '.' ? label == 0 : !is_of_label) {
      return false;
    }
    label = letter == '.' ? 0 : label + 1;
    if (label > kDnsLabelBytesMax) {
      return false;
    }
  }
  return label > 0 && name.size() <= kDnsNameBytesMax && !address_bytes(name).has_value();
}

Status check_names(const HostNames& names) {
  const std::size_t count = names.dns.size() + names.addresses.size();
  if (count == 0) {
    return Error{ErrorCode::kInvalid,
                 "a certificate needs a name or an address of the host; give one"};
  }
  if (count > kHostNamesMax) {
    return Error{ErrorCode::kInvalid, "a certificate takes at most " +
                                          std::to_string(kHostNamesMax) + " names, and these are " +
                                          std::to_string(count) + "; give those that clients use"};
  }
  const auto refusal = [](const std::string& name, const std::string& what) {
    const bool is_shown = name.size() <= kDnsNameBytesMax && is_line_name(name) && !name.empty();
    return Error{
        ErrorCode::kInvalid,
        (is_shown ? "\"" + name + "\"" : "a name of " + std::to_string(name.size()) + " bytes") +
            " cannot be in a certificate: " + what};
  };
  for (const std::string& name : names.dns) {
    if (!is_dns_name(name)) {
      return refusal(name,
                     "a DNS name has letters, digits and - _ between its dots, at most 63 each and "
                     "253 in all, and is not an address");
    }
  }
  for (const std::string& address : names.addresses) {
    if (!address_bytes(address).has_value()) {
      return refusal(address, "an address is like 10.0.0.17 or fd00::17, without port and zone");
    }
  }
  return ok();
}

/// For both kinds of certificates: its number, its times, its subject, and the key that it is for.
bool describe(GnutlsSteps& steps, gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key,
              std::string_view common_name, std::pair<std::int64_t, std::int64_t> life) {
  std::array<unsigned char, kSerialBytes> serial{};
  std::array<unsigned char, kKeyIdBytesMax> key_id{};
  std::size_t key_id_size = key_id.size();
  const auto bits = static_cast<unsigned int>(GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1));
  if (!steps.did(gnutls_rnd(GNUTLS_RND_NONCE, serial.data(), serial.size()))) {
    return false;
  }
  // A number above zero (RFC 5280, 4.1.2.2), always as long.
  serial.front() = static_cast<unsigned char>((serial.front() & 0x3FU) | 0x40U);
  return steps.did(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, bits, 0)) &&
         steps.did(gnutls_x509_crt_set_version(certificate, 3)) &&
         steps.did(gnutls_x509_crt_set_serial(certificate, serial.data(), serial.size())) &&
         steps.did(gnutls_x509_crt_set_activation_time(certificate, life.first)) &&
         steps.did(gnutls_x509_crt_set_expiration_time(certificate, life.second)) &&
         steps.did(gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
                                                 common_name.data(),
                                                 static_cast<unsigned int>(common_name.size()))) &&
         steps.did(gnutls_x509_crt_set_key(certificate, key)) &&
         steps.did(gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA256, key_id.data(),
                                              &key_id_size)) &&
         steps.did(gnutls_x509_crt_set_subject_key_id(certificate, key_id.data(), key_id_size));
}

bool name_issuer(GnutlsSteps& steps, gnutls_x509_crt_t certificate, gnutls_x509_crt_t authority) {
  std::array<unsigned char, kKeyIdBytesMax> key_id{};
  std::size_t key_id_size = key_id.size();
  return steps.did(
             gnutls_x509_crt_get_subject_key_id(authority, key_id.data(), &key_id_size, nullptr)) &&
         steps.did(gnutls_x509_crt_set_authority_key_id(certificate, key_id.data(), key_id_size));
}

bool add_names(GnutlsSteps& steps, gnutls_x509_crt_t certificate, const HostNames& names) {
  const auto add = [&](gnutls_x509_subject_alt_name_t kind, const std::string& name) {
    return steps.did(gnutls_x509_crt_set_subject_alt_name(certificate, kind, name.data(),
                                                          static_cast<unsigned int>(name.size()),
                                                          GNUTLS_FSAN_APPEND));
  };
  return std::all_of(names.dns.begin(), names.dns.end(),
                     [&](const std::string& name) { return add(GNUTLS_SAN_DNSNAME, name); }) &&
         std::all_of(names.addresses.begin(), names.addresses.end(),
                     [&](const std::string& address) {
                       return add(GNUTLS_SAN_IPADDRESS, *address_bytes(address));
                     });
}

Result<HttpTls> exported(GnutlsSteps& steps, gnutls_x509_crt_t certificate,
                         gnutls_x509_privkey_t key) {
  HeldBytes key_text;
  HeldBytes certificate_text;
  if (steps.did(gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, nullptr,
                                                  GNUTLS_PKCS_PLAIN, key_text.get())) &&
      steps.did(
          gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, certificate_text.get()))) {
    return HttpTls{key_text.text(), certificate_text.text()};
  }
  return steps.error("write a certificate");
}

Error unreadable(const std::string& why) {
  return {ErrorCode::kInvalid, "cannot read the certificate: " + why +
                                   "; give it in PEM, from BEGIN CERTIFICATE to END CERTIFICATE"};
}

/// The first one in the text.
Result<HeldCertificate> certificate_in(std::string_view pem) {
  if (pem.empty() || pem.size() > kPemBytesMax) {
    return unreadable(pem.empty()
                          ? "the text is empty"
                          : "the text has more than " + std::to_string(kPemBytesMax) + " bytes");
  }
  const gnutls_datum_t text = datum_of(pem);
  HeldBytes bytes;
  const int code = gnutls_pem_base64_decode2("CERTIFICATE", &text, bytes.get());
  if (code < 0) {
    return unreadable(gnutls_strerror(code));
  }
  if (bytes.size() > kCertificateBytesMax) {
    return unreadable("it has more than " + std::to_string(kCertificateBytesMax) + " bytes");
  }
  HeldCertificate certificate = empty_certificate();
  if (certificate == nullptr) {
    return no_memory();
  }
  const int read = gnutls_x509_crt_import(certificate.get(), bytes.get(), GNUTLS_X509_FMT_DER);
  if (read < 0) {
    return unreadable(gnutls_strerror(read));
  }
  return certificate;
}

Result<HostNames> names_in(gnutls_x509_crt_t certificate) {
  HostNames names;
  for (unsigned int index = 0;; ++index) {
    std::array<char, kReadNameBytesMax> bytes{};
    std::size_t size = bytes.size();
    const int kind =
        gnutls_x509_crt_get_subject_alt_name(certificate, index, bytes.data(), &size, nullptr);
    if (kind == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
      return normalized(std::move(names));
    }
    // A name of another kind may be long; the code for that says nothing of its kind.
    if (kind == GNUTLS_E_SHORT_MEMORY_BUFFER) {
      continue;
    }
    if (kind < 0) {
      return unreadable(std::string("its names: ") + gnutls_strerror(kind));
    }
    const std::string_view name(bytes.data(), std::min(size, bytes.size()));
    if (kind == GNUTLS_SAN_DNSNAME) {
      if (name.empty() || !is_line_name(name)) {
        return unreadable("one of its DNS names is not text");
      }
      names.dns.emplace_back(name);
    } else if (kind == GNUTLS_SAN_IPADDRESS) {
      const std::optional<std::string> address = address_text(name);
      if (!address.has_value()) {
        return unreadable("one of its addresses has " + std::to_string(name.size()) + " bytes");
      }
      names.addresses.push_back(*address);
    }
  }
}

std::string hexadecimal(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xFU];
  }
  return text;
}

Result<CertificateFacts> facts_in(gnutls_x509_crt_t certificate) {
  CertificateFacts facts;
  const std::time_t begin = gnutls_x509_crt_get_activation_time(certificate);
  const std::time_t end = gnutls_x509_crt_get_expiration_time(certificate);
  if (begin == -1 || end == -1) {
    return unreadable("its times are damaged");
  }
  facts.not_before_unix_s = begin;
  facts.not_after_unix_s = end;
  std::array<unsigned char, 32> hash{};
  std::size_t size = hash.size();
  const int code =
      gnutls_x509_crt_get_fingerprint(certificate, GNUTLS_DIG_SHA256, hash.data(), &size);
  if (code < 0) {
    return unreadable(gnutls_strerror(code));
  }
  facts.fingerprint = hexadecimal(hash);
  Result<HostNames> names = names_in(certificate);
  if (!names.has_value()) {
    return names.error();
  }
  facts.names = *std::move(names);
  facts.is_authority = gnutls_x509_crt_get_ca_status(certificate, nullptr) > 0;
  return facts;
}

/// The certificate of an authority that may sign now.
Result<HeldCertificate> signer_in(const HttpTls& authority, std::int64_t now_unix_s,
                                  CertificateFacts& facts) {
  const auto refusal = [](const std::string& why) {
    return Error{ErrorCode::kImpossible, "the HTTPS authority of the cluster cannot sign: " + why};
  };
  if (const Status fits = check_tls(authority); !fits.has_value()) {
    return refusal(fits.error().text);
  }
  Result<HeldCertificate> signer = certificate_in(authority.certificates);
  if (!signer.has_value()) {
    return refusal(signer.error().text);
  }
  const Result<CertificateFacts> known = facts_in(signer->get());
  if (!known.has_value()) {
    return refusal(known.error().text);
  }
  facts = *known;
  if (!facts.is_authority) {
    return refusal("its certificate is not one of an authority; make a new authority");
  }
  if (now_unix_s < facts.not_before_unix_s || now_unix_s >= facts.not_after_unix_s) {
    return refusal("its certificate holds from " + date_text(facts.not_before_unix_s) + " to " +
                   date_text(facts.not_after_unix_s) + ", and the clock of this host shows " +
                   date_text(now_unix_s) + "; set the clock, or make a new authority");
  }
  return signer;
}

}  // namespace

HostNames normalized(HostNames names) {
  const auto settle = [](std::vector<std::string>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  for (std::string& name : names.dns) {
    for (char& letter : name) {
      letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
  }
  for (std::string& address : names.addresses) {
    if (const auto bytes = address_bytes(address)) {
      address = address_text(*bytes).value_or(address);
    }
  }
  settle(names.dns);
  settle(names.addresses);
  return names;
}

Result<HttpTls> make_authority(const std::string& cluster_name, std::int64_t now_unix_s) {
  if (const Status clock = check_clock(now_unix_s); !clock.has_value()) {
    return clock.error();
  }
  if (cluster_name.empty()) {
    return Error{ErrorCode::kInvalid, "the HTTPS authority needs the name of the cluster; give it"};
  }
  if (const Status name = check_line_name(cluster_name, "cluster"); !name.has_value()) {
    return name.error();
  }
  const HeldKey key = empty_key();
  const HeldCertificate root = empty_certificate();
  if (key == nullptr || root == nullptr) {
    return no_memory();
  }
  const std::string subject = "Muster cluster " + cluster_name;
  const std::int64_t begin = now_unix_s - kBackdateS;
  GnutlsSteps steps;
  if (describe(steps, root.get(), key.get(), common_name_in(subject),
               {begin, begin + kAuthorityLifeS}) &&
      steps.did(gnutls_x509_crt_set_basic_constraints(root.get(), 1, 0)) &&
      steps.did(gnutls_x509_crt_set_key_usage(root.get(),
                                              GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN)) &&
      steps.did(gnutls_x509_crt_sign2(root.get(), root.get(), key.get(), GNUTLS_DIG_SHA256, 0))) {
    return exported(steps, root.get(), key.get());
  }
  return steps.error("make the HTTPS authority");
}

Result<HttpTls> make_host_certificate(const HttpTls& authority, const HostNames& names,
                                      std::int64_t now_unix_s) {
  if (const Status clock = check_clock(now_unix_s); !clock.has_value()) {
    return clock.error();
  }
  if (const Status good = check_names(names); !good.has_value()) {
    return good.error();
  }
  CertificateFacts facts;
  const Result<HeldCertificate> signer = signer_in(authority, now_unix_s, facts);
  if (!signer.has_value()) {
    return signer.error();
  }
  const HeldKey signing_key = empty_key();
  const HeldKey key = empty_key();
  const HeldCertificate leaf = empty_certificate();
  if (signing_key == nullptr || key == nullptr || leaf == nullptr) {
    return no_memory();
  }
  const HostNames all = normalized(names);
  const std::string& subject = all.dns.empty() ? all.addresses.front() : all.dns.front();
  const std::int64_t begin = std::max(now_unix_s - kBackdateS, facts.not_before_unix_s);
  const std::int64_t end = std::min(begin + kHostLifeS, facts.not_after_unix_s);
  const gnutls_datum_t signing_text = datum_of(authority.key);
  GnutlsSteps steps;
  if (steps.did(
          gnutls_x509_privkey_import(signing_key.get(), &signing_text, GNUTLS_X509_FMT_PEM)) &&
      describe(steps, leaf.get(), key.get(), common_name_in(subject), {begin, end}) &&
      steps.did(gnutls_x509_crt_set_basic_constraints(leaf.get(), 0, -1)) &&
      steps.did(gnutls_x509_crt_set_key_usage(leaf.get(), GNUTLS_KEY_DIGITAL_SIGNATURE)) &&
      steps.did(gnutls_x509_crt_set_key_purpose_oid(leaf.get(), GNUTLS_KP_TLS_WWW_SERVER, 0)) &&
      add_names(steps, leaf.get(), all) && name_issuer(steps, leaf.get(), signer->get()) &&
      steps.did(gnutls_x509_crt_sign2(leaf.get(), signer->get(), signing_key.get(),
                                      GNUTLS_DIG_SHA256, 0))) {
    return exported(steps, leaf.get(), key.get());
  }
  return steps.error("make a certificate for HTTPS");
}

Result<CertificateFacts> facts_of(std::string_view pem) {
  const Result<HeldCertificate> certificate = certificate_in(pem);
  return certificate.has_value() ? facts_in(certificate->get())
                                 : Result<CertificateFacts>(certificate.error());
}

bool is_due(const CertificateFacts& facts, const HostNames& names, std::int64_t now_unix_s) {
  const std::int64_t life = facts.not_after_unix_s - facts.not_before_unix_s;
  return now_unix_s < facts.not_before_unix_s ||
         now_unix_s >= facts.not_before_unix_s + life / 3 * 2 || facts.names != normalized(names);
}

std::string date_text(std::int64_t unix_s) {
  constexpr std::int64_t kYear1UnixS = -62'135'596'800;
  constexpr std::int64_t kYear9999UnixS = 253'402'300'799;
  const std::chrono::sys_seconds time{
      std::chrono::seconds(std::clamp(unix_s, kYear1UnixS, kYear9999UnixS))};
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(time)};
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned int>(date.month()), static_cast<unsigned int>(date.day()));
  return text.data();
}

}  // namespace muster::agent
