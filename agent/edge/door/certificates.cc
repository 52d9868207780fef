#include "agent/edge/door/certificates.h"

#include <arpa/inet.h>
#include <gnutls/crypto.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <span>
#include <utility>

#include "agent/edge/door/tls_held.h"
#include "agent/edge/door/tls_watch.h"
#include "gossip/base/name.h"

namespace muster::agent {
namespace {

constexpr std::int64_t kEarliestUnixS = 1'704'067'200;  // 2024-01-01
constexpr std::int64_t kLatestUnixS = 4'102'444'800;    // 2100-01-01
constexpr std::size_t kDnsNameBytesMax = 253;
constexpr std::size_t kDnsLabelBytesMax = 63;
/// A longer name in a certificate is left out: no client asks for it.
constexpr std::size_t kReadNameBytesMax = 1024;

Status check_clock(std::int64_t now_unix_s) {
  if (now_unix_s >= kEarliestUnixS && now_unix_s < kLatestUnixS) {
    return ok();
  }
  return Error{ErrorCode::kInvalid, "the clock of this host shows " + date_text(now_unix_s) +
                                        ", and no browser would accept a certificate of that day; "
                                        "set the clock"};
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

/// Other kinds of keys are refused: to use some costs much time.
Result<HeldPublicKey> public_key_in(std::string_view pem) {
  const Error refusal{ErrorCode::kInvalid,
                      "that is no public key for HTTPS: give one on P-256, in PEM"};
  HeldPublicKey key = empty_public_key();
  if (key == nullptr) {
    return no_memory();
  }
  const gnutls_datum_t text = datum_of(pem);
  gnutls_ecc_curve_t curve = GNUTLS_ECC_CURVE_INVALID;
  const bool is_good = !pem.empty() && pem.size() <= kPublicKeyBytesMax &&
                       gnutls_pubkey_import(key.get(), &text, GNUTLS_X509_FMT_PEM) >= 0 &&
                       gnutls_pubkey_get_pk_algorithm(key.get(), nullptr) == GNUTLS_PK_ECDSA &&
                       gnutls_pubkey_export_ecc_raw2(key.get(), &curve, nullptr, nullptr, 0) >= 0 &&
                       curve == GNUTLS_ECC_CURVE_SECP256R1;
  return is_good ? Result<HeldPublicKey>(std::move(key)) : Result<HeldPublicKey>(refusal);
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

Result<std::string> make_host_key() {
  const HeldKey key = empty_key();
  if (key == nullptr) {
    return no_memory();
  }
  const auto bits = static_cast<unsigned int>(GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1));
  GnutlsSteps steps;
  if (!steps.did(gnutls_x509_privkey_generate(key.get(), GNUTLS_PK_ECDSA, bits, 0))) {
    return steps.error("make a key for HTTPS");
  }
  return exported(key.get());
}

Result<std::string> public_key_of(const std::string& key) {
  const HeldKey held = empty_key();
  const HeldPublicKey public_key = empty_public_key();
  gnutls_privkey_t abstract = nullptr;
  if (held == nullptr || public_key == nullptr || gnutls_privkey_init(&abstract) < 0) {
    return no_memory();
  }
  const gnutls_datum_t text = datum_of(key);
  HeldBytes bytes;
  GnutlsSteps steps;
  const bool is_done =
      steps.did(gnutls_x509_privkey_import2(held.get(), &text, GNUTLS_X509_FMT_PEM, nullptr, 0)) &&
      steps.did(gnutls_privkey_import_x509(abstract, held.get(), 0)) &&
      steps.did(gnutls_pubkey_import_privkey(public_key.get(), abstract, 0, 0)) &&
      steps.did(gnutls_pubkey_export2(public_key.get(), GNUTLS_X509_FMT_PEM, bytes.get()));
  gnutls_privkey_deinit(abstract);
  if (is_done) {
    return bytes.text();
  }
  return Error{ErrorCode::kInvalid, steps.error("read the key of HTTPS").text};
}

Result<std::string> sign_host(const HttpTls& authority, std::string_view public_key,
                              const HostNames& names, std::int64_t now_unix_s) {
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
  const Result<HeldPublicKey> key = public_key_in(public_key);
  if (!key.has_value()) {
    return key.error();
  }
  const HeldKey signing_key = empty_key();
  const HeldCertificate leaf = empty_certificate();
  if (signing_key == nullptr || leaf == nullptr) {
    return no_memory();
  }
  const HostNames all = normalized(names);
  CertificateHead head;
  head.serial.resize(kSerialBytes);
  head.common_name = all.dns.empty() ? all.addresses.front() : all.dns.front();
  head.begin_unix_s = std::max(now_unix_s - kBackdateS, facts.not_before_unix_s);
  head.end_unix_s = std::min(head.begin_unix_s + kHostLifeS, facts.not_after_unix_s);
  const gnutls_datum_t signing_text = datum_of(authority.key);
  GnutlsSteps steps;
  if (steps.did(
          gnutls_x509_privkey_import(signing_key.get(), &signing_text, GNUTLS_X509_FMT_PEM)) &&
      steps.did(gnutls_rnd(GNUTLS_RND_NONCE, head.serial.data(), head.serial.size())) &&
      steps.did(gnutls_x509_crt_set_pubkey(leaf.get(), key->get())) &&
      describe(steps, leaf.get(), head) &&
      steps.did(gnutls_x509_crt_set_basic_constraints(leaf.get(), 0, -1)) &&
      steps.did(gnutls_x509_crt_set_key_usage(leaf.get(), GNUTLS_KEY_DIGITAL_SIGNATURE)) &&
      steps.did(gnutls_x509_crt_set_key_purpose_oid(leaf.get(), GNUTLS_KP_TLS_WWW_SERVER, 0)) &&
      add_names(steps, leaf.get(), all) && name_issuer(steps, leaf.get(), signer->get()) &&
      steps.did(gnutls_x509_crt_sign2(leaf.get(), signer->get(), signing_key.get(),
                                      GNUTLS_DIG_SHA256, 0))) {
    return exported(leaf.get());
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
