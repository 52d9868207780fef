// Goal: certificates that a client of HTTPS accepts for their names and days, and for no others.
// Method: GnuTLS verifies them as a client does, with the time of day that the test sets; readers
// get 1,000 seeded mutations of the text and of the bytes below it.

#include "agent/edge/door/certificates.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <gtest/gtest.h>

#include <array>
#include <ctime>
#include <string>
#include <vector>

#include "agent/edge/door/tls_watch.h"
#include "gossip/base/base64.h"
#include "gossip/base/check.h"
#include "gossip/base/rng.h"
#include "tests/agent/edge/door/host_certificate.h"

namespace muster::agent {
namespace {

constexpr std::int64_t kNoon = 1'795'867'200;  // 2026-11-28 12:00 UTC
constexpr std::int64_t kYearS = 365 * kDayS;
constexpr int kMutations = 1'000;

std::int64_t client_time_s = kNoon;

/// While it lives, clients of GnuTLS see `client_time_s`.
class ClientClock {
 public:
  ClientClock() {
    client_time_s = kNoon;
    gnutls_global_set_time_function([](std::time_t* out) {
      const std::time_t now = client_time_s;
      if (out != nullptr) {
        *out = now;
      }
      return now;
    });
  }
  ~ClientClock() { gnutls_global_set_time_function(std::time); }
  ClientClock(const ClientClock&) = delete;
  ClientClock& operator=(const ClientClock&) = delete;
};

gnutls_datum_t datum_in(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          static_cast<unsigned int>(text.size())};
}

/// A certificate as tests look into it.
class ReadCertificate {
 public:
  explicit ReadCertificate(const std::string& pem) {
    gnutls_x509_crt_init(&held_);
    const gnutls_datum_t text = datum_in(pem);
    CHECK(gnutls_x509_crt_import(held_, &text, GNUTLS_X509_FMT_PEM) == GNUTLS_E_SUCCESS);
  }
  ~ReadCertificate() { gnutls_x509_crt_deinit(held_); }
  ReadCertificate(const ReadCertificate&) = delete;
  ReadCertificate& operator=(const ReadCertificate&) = delete;
  gnutls_x509_crt_t get() const { return held_; }

  std::string serial() const {
    std::array<char, 64> bytes{};
    std::size_t size = bytes.size();
    CHECK(gnutls_x509_crt_get_serial(held_, bytes.data(), &size) == GNUTLS_E_SUCCESS);
    return {bytes.data(), size};
  }
  std::string subject() const {
    std::array<char, 512> text{};
    std::size_t size = text.size();
    CHECK(gnutls_x509_crt_get_dn(held_, text.data(), &size) == GNUTLS_E_SUCCESS);
    return text.data();
  }
  unsigned int usage() const {
    unsigned int bits = 0;
    CHECK(gnutls_x509_crt_get_key_usage(held_, &bits, nullptr) == GNUTLS_E_SUCCESS);
    return bits;
  }
  int path_length() const {
    unsigned int is_authority = 0;
    int length = -1;
    CHECK(gnutls_x509_crt_get_basic_constraints(held_, nullptr, &is_authority, &length) >= 0);
    return is_authority != 0 ? length : -1;
  }
  std::string der() const {
    gnutls_datum_t bytes{};
    CHECK(gnutls_x509_crt_export2(held_, GNUTLS_X509_FMT_DER, &bytes) == GNUTLS_E_SUCCESS);
    const std::string text(reinterpret_cast<const char*>(bytes.data), bytes.size);
    gnutls_free(bytes.data);
    return text;
  }

 private:
  gnutls_x509_crt_t held_ = nullptr;
};

/// How a client that trusts `root` judges a server with this chain: 0, or GNUTLS_CERT_ bits.
unsigned int verdict(const std::string& root, const std::vector<std::string>& chain,
                     const std::string& name, const char* purpose = GNUTLS_KP_TLS_WWW_SERVER) {
  const ReadCertificate trusted(root);
  const gnutls_x509_crt_t anchor = trusted.get();
  std::vector<gnutls_x509_crt_t> certificates;
  for (const std::string& pem : chain) {
    const gnutls_datum_t text = datum_in(pem);
    certificates.emplace_back();
    gnutls_x509_crt_init(&certificates.back());
    CHECK(gnutls_x509_crt_import(certificates.back(), &text, GNUTLS_X509_FMT_PEM) == 0);
  }
  gnutls_x509_trust_list_t list = nullptr;
  gnutls_x509_trust_list_init(&list, 0);
  CHECK(gnutls_x509_trust_list_add_cas(list, &anchor, 1, 0) == 1);
  std::string asked = name;
  std::string use = purpose;
  std::array<gnutls_typed_vdata_st, 2> facts{};
  facts[0] = {GNUTLS_DT_DNS_HOSTNAME, reinterpret_cast<unsigned char*>(asked.data()), 0};
  facts[1] = {GNUTLS_DT_KEY_PURPOSE_OID, reinterpret_cast<unsigned char*>(use.data()), 0};
  unsigned int status = ~0U;
  if (gnutls_x509_trust_list_verify_crt2(
          list, certificates.data(), static_cast<unsigned int>(certificates.size()), facts.data(),
          static_cast<unsigned int>(facts.size()), 0, &status, nullptr) != 0) {
    status = ~0U;
  }
  gnutls_x509_trust_list_deinit(list, 0);
  for (const gnutls_x509_crt_t certificate : certificates) {
    gnutls_x509_crt_deinit(certificate);
  }
  return status;
}

class Certificates : public testing::Test {
 protected:
  /// Of another cluster each time.
  static HttpTls authority(const std::string& name = "lab") {
    static int count = 0;
    return authority_of_secret("the secret of cluster " + std::to_string(++count), name);
  }
  HttpTls host(std::int64_t now = kNoon) const {
    auto made = make_host_certificate(authority_, names_, now);
    CHECK(made.has_value());
    return *std::move(made);
  }

  const HttpTls authority_ = authority();
  const HostNames names_{{"node17.example.com", "NODE17"}, {"10.0.0.17", "fd00:0::17"}};
  const ClientClock clock_{};
};

TEST_F(Certificates, AnAuthoritySaysWhatItMayDo) {
  const ReadCertificate root(authority_.certificates);
  EXPECT_EQ(root.subject(), "CN=Muster cluster lab");
  EXPECT_EQ(root.usage(), unsigned{GNUTLS_KEY_KEY_CERT_SIGN} | unsigned{GNUTLS_KEY_CRL_SIGN});
  EXPECT_EQ(root.path_length(), 0);
  EXPECT_EQ(root.serial().size(), 16U);
  EXPECT_NE(root.serial(), ReadCertificate(authority().certificates).serial());
  unsigned int bits = 0;
  EXPECT_EQ(gnutls_x509_crt_get_pk_algorithm(root.get(), &bits), GNUTLS_PK_ECDSA);
  EXPECT_EQ(bits, 256U);
  const auto facts = facts_of(authority_.certificates);
  ASSERT_TRUE(facts.has_value());
  EXPECT_TRUE(facts->is_authority);
  EXPECT_EQ(facts->names, HostNames{});
  EXPECT_TRUE(check_tls(authority_).has_value());
}

TEST_F(Certificates, AnAuthorityCutsALongNameAtACharacter) {
  std::string name;
  for (int index = 0; index < 60; ++index) {
    name += "é";
  }
  const ReadCertificate root(authority(name).certificates);
  // 15 letters stand before it.
  EXPECT_EQ(root.subject(), "CN=Muster cluster " + name.substr(0, 49 * std::string("é").size()));
}

TEST_F(Certificates, RefusesAClockThatIsWrong) {
  for (const std::int64_t now : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1'704'067'199},
                                 std::int64_t{4'102'444'800}, INT64_MAX, INT64_MIN}) {
    const auto made = make_host_certificate(authority_, names_, now);
    ASSERT_FALSE(made.has_value()) << now;
    EXPECT_NE(made.error().text.find("set the clock"), std::string::npos);
  }
}

TEST_F(Certificates, AClientTrustsAHostForEachOfItsNamesAndNoOther) {
  const HttpTls leaf = host();
  const std::string& root = authority_.certificates;
  EXPECT_TRUE(check_tls(leaf).has_value());
  for (const char* name :
       {"node17", "node17.example.com", "Node17.Example.com", "10.0.0.17", "fd00::17"}) {
    EXPECT_EQ(verdict(root, {leaf.certificates}, name), 0U) << name;
  }
  for (const char* name : {"node18", "example.com", "x.node17.example.com", "10.0.0.18", "fd00::18",
                           "localhost", "node17.example.com.evil.org"}) {
    EXPECT_TRUE(verdict(root, {leaf.certificates}, name) & GNUTLS_CERT_UNEXPECTED_OWNER) << name;
  }
  EXPECT_TRUE(verdict(root, {leaf.certificates}, "node17", GNUTLS_KP_TLS_WWW_CLIENT) &
              GNUTLS_CERT_PURPOSE_MISMATCH);
}

TEST_F(Certificates, AClientTrustsNoHostOfAnotherAuthorityOfThatName) {
  EXPECT_NE(verdict(authority().certificates, {host().certificates}, "node17"), 0U);
}

TEST_F(Certificates, AHostCannotSignForAnotherHost) {
  const HttpTls leaf = host();
  const auto made = make_host_certificate(leaf, names_, kNoon);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kImpossible);
  // Nor by hand.
  gnutls_x509_privkey_t key = nullptr;
  gnutls_x509_privkey_init(&key);
  const gnutls_datum_t text = datum_in(leaf.key);
  ASSERT_EQ(gnutls_x509_privkey_import(key, &text, GNUTLS_X509_FMT_PEM), 0);
  const ReadCertificate issuer(leaf.certificates);
  const ReadCertificate forged(host().certificates);
  ASSERT_EQ(gnutls_x509_crt_sign2(forged.get(), issuer.get(), key, GNUTLS_DIG_SHA256, 0), 0);
  gnutls_datum_t pem{};
  ASSERT_EQ(gnutls_x509_crt_export2(forged.get(), GNUTLS_X509_FMT_PEM, &pem), 0);
  const std::string below(reinterpret_cast<const char*>(pem.data), pem.size);
  gnutls_free(pem.data);
  gnutls_x509_privkey_deinit(key);
  EXPECT_NE(verdict(authority_.certificates, {below, leaf.certificates}, "node17"), 0U);
}

TEST_F(Certificates, AHostIsTrustedForNinetyDays) {
  const HttpTls leaf = host();
  const struct {
    std::int64_t at;
    unsigned int verdict;
  } kDays[] = {
      {kNoon - kBackdateS - 1, GNUTLS_CERT_NOT_ACTIVATED},
      {kNoon - kBackdateS, 0},
      {kNoon + 89 * kDayS, 0},
      {kNoon - kBackdateS + kHostLifeS - 1, 0},
      {kNoon - kBackdateS + kHostLifeS + 1, GNUTLS_CERT_EXPIRED},
  };
  for (const auto& day : kDays) {
    client_time_s = day.at;
    EXPECT_EQ(
        verdict(authority_.certificates, {leaf.certificates}, "node17") & ~GNUTLS_CERT_INVALID,
        day.verdict)
        << day.at - kNoon;
  }
}

TEST_F(Certificates, FactsAreThoseThatWereAskedFor) {
  const HttpTls leaf = host();
  const auto facts = facts_of(leaf.certificates);
  ASSERT_TRUE(facts.has_value()) << facts.error().text;
  EXPECT_EQ(facts->not_before_unix_s, kNoon - kBackdateS);
  EXPECT_EQ(facts->not_after_unix_s, kNoon - kBackdateS + kHostLifeS);
  EXPECT_EQ(facts->names, (HostNames{{"node17", "node17.example.com"}, {"10.0.0.17", "fd00::17"}}));
  EXPECT_FALSE(facts->is_authority);
  EXPECT_EQ(facts->fingerprint.size(), 64U);
  EXPECT_EQ(facts->fingerprint.find_first_not_of("0123456789abcdef"), std::string::npos);
  // The first of a chain counts.
  EXPECT_EQ(facts_of(leaf.certificates + authority_.certificates)->fingerprint, facts->fingerprint);
  EXPECT_NE(facts_of(host().certificates)->fingerprint, facts->fingerprint);
  EXPECT_EQ(ReadCertificate(leaf.certificates).usage(), unsigned{GNUTLS_KEY_DIGITAL_SIGNATURE});
  EXPECT_NE(host().key, leaf.key);
}

TEST_F(Certificates, AHostEndsNoLaterThanItsAuthority) {
  const std::int64_t end = facts_of(authority_.certificates)->not_after_unix_s;
  const auto facts = facts_of(host(end - 10 * kDayS).certificates);
  EXPECT_EQ(facts->not_after_unix_s, end);
  // The last second of the century.
  const auto made = make_host_certificate(authority_, names_, end);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kImpossible);
  EXPECT_NE(made.error().text.find("holds from 2024-01-01 to 2099-12-31"), std::string::npos)
      << made.error().text;
}

TEST_F(Certificates, OnlyKeysOnTheCurveOfHttpsAreSigned) {
  const std::string good = *public_key_of(*make_host_key());
  EXPECT_TRUE(sign_host(authority_, good, names_, kNoon).has_value());
  gnutls_x509_privkey_t rsa = nullptr;
  gnutls_x509_privkey_init(&rsa);
  ASSERT_EQ(gnutls_x509_privkey_generate(rsa, GNUTLS_PK_RSA, 2048, 0), 0);
  gnutls_datum_t text{};
  ASSERT_EQ(gnutls_x509_privkey_export2(rsa, GNUTLS_X509_FMT_PEM, &text), 0);
  const std::string other =
      *public_key_of(std::string(reinterpret_cast<const char*>(text.data), text.size));
  gnutls_free(text.data);
  gnutls_x509_privkey_deinit(rsa);
  for (const std::string& key : {std::string(), std::string("no key"), other, authority_.key,
                                 good + std::string(kPublicKeyBytesMax, ' ')}) {
    const auto made = sign_host(authority_, key, names_, kNoon);
    ASSERT_FALSE(made.has_value()) << key;
    EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
  }
  EXPECT_FALSE(public_key_of("no key").has_value());
}

TEST_F(Certificates, AnAuthorityWithAnotherKeyIsRefused) {
  const auto made =
      make_host_certificate({authority().key, authority_.certificates}, names_, kNoon);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kImpossible);
}

TEST_F(Certificates, RefusesNamesThatNoClientCouldAskFor) {
  const std::string long_label(64, 'a');
  const std::string long_name = std::string(63, 'a') + "." + std::string(63, 'b') + "." +
                                std::string(63, 'c') + "." + std::string(62, 'd');
  const HostNames kWrong[] = {
      {},
      {{""}, {}},
      {{"."}, {}},
      {{"a..b"}, {}},
      {{".a"}, {}},
      {{"a."}, {}},
      {{"*.example.com"}, {}},
      {{"a b"}, {}},
      {{"a\n"}, {}},
      {{std::string("a\0b", 3)}, {}},
      {{"knödel"}, {}},
      {{"10.0.0.17"}, {}},
      {{"a:443"}, {}},
      {{long_label}, {}},
      {{long_name}, {}},
      {{std::string(100'000, 'a')}, {}},
      {{}, {""}},
      {{}, {"node17"}},
      {{}, {"10.0.0.17:443"}},
      {{}, {"10.0.0.256"}},
      {{}, {"[fd00::17]"}},
      {{}, {"fe80::1%eth0"}},
      {{}, {std::string("10.0.0.17\0x", 11)}},
      {std::vector<std::string>(kHostNamesMax + 1, "a"), {}},
  };
  for (const HostNames& names : kWrong) {
    const auto made = make_host_certificate(authority_, names, kNoon);
    ASSERT_FALSE(made.has_value()) << names.dns.size();
    EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
    EXPECT_LT(made.error().text.size(), 500U);
    EXPECT_EQ(made.error().text.find('\n'), std::string::npos);
  }
}

TEST_F(Certificates, TakesAsManyLongNamesAsItSays) {
  HostNames names;
  const std::string tail =
      "." + std::string(63, 'b') + "." + std::string(63, 'c') + "." + std::string(61, 'd');
  for (std::size_t index = 0; index < kHostNamesMax; ++index) {
    names.dns.push_back(std::to_string(1'000 + index) + std::string(59, 'a') + tail);
  }
  ASSERT_EQ(names.dns.front().size(), 253U);
  const auto made = make_host_certificate(authority_, names, kNoon);
  ASSERT_TRUE(made.has_value()) << made.error().text;
  EXPECT_EQ(facts_of(made->certificates)->names, names);
}

TEST_F(Certificates, NamesHaveOneForm) {
  EXPECT_EQ(normalized({{"B", "a", "b"}, {"::ffff:10.0.0.1", "10.0.0.1", "FD00:0:0::1", "?"}}),
            (HostNames{{"a", "b"}, {"10.0.0.1", "?", "fd00::1"}}));
}

TEST_F(Certificates, AreDueAfterSixtyDaysOrForOtherNames) {
  const auto facts = facts_of(host().certificates);
  const std::int64_t begin = kNoon - kBackdateS;
  EXPECT_FALSE(is_due(*facts, names_, kNoon));
  EXPECT_FALSE(is_due(*facts, names_, begin + 60 * kDayS - 1));
  EXPECT_TRUE(is_due(*facts, names_, begin + 60 * kDayS));
  EXPECT_TRUE(is_due(*facts, names_, begin + kYearS));
  EXPECT_TRUE(is_due(*facts, names_, begin - 1));
  HostNames more = names_;
  more.addresses.push_back("10.0.0.18");
  EXPECT_TRUE(is_due(*facts, more, kNoon));
  EXPECT_TRUE(is_due(*facts, {{"node17"}, {}}, kNoon));
}

TEST_F(Certificates, ShowDates) {
  EXPECT_EQ(date_text(0), "1970-01-01");
  EXPECT_EQ(date_text(kNoon), "2026-11-28");
  EXPECT_EQ(date_text(-1), "1969-12-31");
  EXPECT_EQ(date_text(INT64_MIN), "0001-01-01");
  EXPECT_EQ(date_text(INT64_MAX), "9999-12-31");
}

std::string mutated_bytes(std::string bytes, Rng& rng) {
  for (std::uint64_t edits = 1 + rng.below(6); edits > 0 && !bytes.empty(); --edits) {
    const std::size_t at = rng.below(bytes.size());
    const auto byte = static_cast<char>(rng.below(256));
    switch (rng.below(5)) {
      case 0:
        bytes[at] = byte;
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.below(8)));
        break;
      case 2:
        bytes.insert(at, 1 + rng.below(40), byte);
        break;
      case 3:
        bytes.erase(at, 1 + rng.below(40));
        break;
      case 4:
        bytes.insert(at, bytes.substr(rng.below(bytes.size()), rng.below(200)));
        break;
    }
  }
  return bytes;
}

std::string pem_of(const std::string& der) {
  std::string letters = to_base64(der, Base64::kPadded);
  for (std::size_t at = 64; at < letters.size(); at += 65) {
    letters.insert(at, 1, '\n');
  }
  return "-----BEGIN CERTIFICATE-----\n" + letters + "\n-----END CERTIFICATE-----\n";
}

/// For any bytes: facts within their limits, or one sentence.
bool is_bounded(const Result<CertificateFacts>& facts) {
  if (!facts.has_value()) {
    return facts.error().code == ErrorCode::kInvalid && facts.error().text.size() < 500 &&
           facts.error().text.find('\n') == std::string::npos;
  }
  std::size_t bytes = 0;
  for (const std::string& name : facts->names.dns) {
    bytes += name.size();
  }
  return facts->fingerprint.size() == 64 && bytes <= kCertificateBytesMax &&
         facts->names.addresses.size() <= kCertificateBytesMax / 4;
}

TEST_F(Certificates, HostileBytesAreRefusedOrRead) {
  const HttpTls leaf = host();
  const std::string der = ReadCertificate(leaf.certificates).der();
  ASSERT_TRUE(facts_of(pem_of(der)).has_value());
  Rng rng(20261128);
  int read = 0;
  for (int round = 0; round < kMutations; ++round) {
    EXPECT_TRUE(is_bounded(facts_of(mutated_bytes(leaf.certificates, rng)))) << round;
    const std::string below = pem_of(mutated_bytes(der, rng));
    const auto facts = facts_of(below);
    EXPECT_TRUE(is_bounded(facts)) << round;
    read += facts.has_value() ? 1 : 0;
    // It is for nobody: the signature is not good any more.
    if (facts.has_value() && facts->fingerprint != facts_of(leaf.certificates)->fingerprint) {
      EXPECT_NE(verdict(authority_.certificates, {below}, "node17"), 0U) << round;
    }
    const HttpTls damaged{mutated_bytes(leaf.key, rng), below};
    if (const Status fits = check_tls(damaged); !fits.has_value()) {
      EXPECT_LT(fits.error().text.size(), 500U);
    }
    if (const auto made = make_host_certificate(damaged, names_, kNoon); !made.has_value()) {
      EXPECT_EQ(made.error().code, ErrorCode::kImpossible) << round;
    }
  }
  // The mutations are not all beyond the first check.
  EXPECT_GT(read, 20);
  EXPECT_LT(read, kMutations);
}

TEST_F(Certificates, LimitsHoldAtTheirEdges) {
  const std::string leaf = host().certificates;
  EXPECT_TRUE(facts_of(leaf + std::string(kPemBytesMax - leaf.size(), ' ')).has_value());
  EXPECT_FALSE(facts_of(leaf + std::string(kPemBytesMax - leaf.size() + 1, ' ')).has_value());
  EXPECT_FALSE(facts_of("").has_value());
  EXPECT_FALSE(facts_of(std::string(kPemBytesMax, '-')).has_value());
  EXPECT_FALSE(facts_of(pem_of(std::string(kCertificateBytesMax, '\x30'))).has_value());
  const auto large = facts_of(pem_of(std::string(kCertificateBytesMax + 1, '\x30')));
  ASSERT_FALSE(large.has_value());
  EXPECT_NE(large.error().text.find("more than 49152 bytes"), std::string::npos);
}

}  // namespace
}  // namespace muster::agent
