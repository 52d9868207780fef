// Goal: the same secret gives the same authority on each host and each day, another secret another
// one. Method: derivations are compared byte for byte, with each other and with values that were
// computed by hand once (Python: hmac, and the curve in whole numbers).

#include "agent/edge/door/tls_authority.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/edge/door/certificates.h"
#include "agent/edge/door/tls_watch.h"

namespace muster::agent {
namespace {

const std::string kSecret(32, 's');

std::string hex(const gnutls_datum_t& bytes) {
  std::string text;
  for (unsigned int i = 0; i < bytes.size; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[bytes.data[i] >> 4U];
    text += kDigits[bytes.data[i] & 15U];
  }
  // GnuTLS puts a zero in front of a number whose first bit is set.
  while (text.size() > 64) {
    text.erase(0, 2);
  }
  return text;
}

struct Parts {
  std::string x;
  std::string y;
  std::string number;
};

Parts parts_of(const std::string& key) {
  gnutls_x509_privkey_t held = nullptr;
  gnutls_x509_privkey_init(&held);
  const gnutls_datum_t text{reinterpret_cast<unsigned char*>(const_cast<char*>(key.data())),
                            static_cast<unsigned int>(key.size())};
  EXPECT_EQ(gnutls_x509_privkey_import(held, &text, GNUTLS_X509_FMT_PEM), 0);
  gnutls_ecc_curve_t curve = GNUTLS_ECC_CURVE_INVALID;
  gnutls_datum_t x{};
  gnutls_datum_t y{};
  gnutls_datum_t number{};
  EXPECT_EQ(gnutls_x509_privkey_export_ecc_raw(held, &curve, &x, &y, &number), 0);
  EXPECT_EQ(curve, GNUTLS_ECC_CURVE_SECP256R1);
  Parts parts{hex(x), hex(y), hex(number)};
  gnutls_free(x.data);
  gnutls_free(y.data);
  gnutls_free(number.data);
  gnutls_x509_privkey_deinit(held);
  return parts;
}

TEST(TlsAuthority, EachHostWithTheSecretHasTheSameOne) {
  const auto one = derive_authority(kSecret, "0123abcd");
  const auto other = derive_authority(kSecret, "0123abcd");
  ASSERT_TRUE(one.has_value()) << one.error().text;
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(one->key, other->key);
  EXPECT_EQ(one->certificates, other->certificates);
  EXPECT_TRUE(check_tls(*one).has_value());
}

TEST(TlsAuthority, ItsKeyIsTheOneOfTheRule) {
  const auto made = derive_authority(kSecret, "lab");
  ASSERT_TRUE(made.has_value());
  const Parts parts = parts_of(made->key);
  EXPECT_EQ(parts.number, "37145bf99e6d7ab38937876afa92e0b15191d7c38e6dbc29b728c01287ae6fd0");
  EXPECT_EQ(parts.x, "5bcad1e80afd0a52c93910ad5018116da7a7306bbf4fdd432cf72adb3083ea17");
  EXPECT_EQ(parts.y, "593e65a7d901f15e754068d4f27a906b93eb1694be7cd337a132da6e66e1ec85");
}

TEST(TlsAuthority, AnotherSecretOrNameGivesAnotherRoot) {
  const auto made = derive_authority(kSecret, "lab");
  const auto replaced = derive_authority(std::string(32, 't'), "lab");
  const auto renamed = derive_authority(kSecret, "lab2");
  ASSERT_TRUE(made.has_value() && replaced.has_value() && renamed.has_value());
  EXPECT_NE(made->key, replaced->key);
  EXPECT_NE(made->certificates, replaced->certificates);
  EXPECT_EQ(made->key, renamed->key);
  EXPECT_NE(made->certificates, renamed->certificates);
}

TEST(TlsAuthority, ItsRootHoldsToTheEndOfTheCentury) {
  const auto made = derive_authority(kSecret, "lab");
  ASSERT_TRUE(made.has_value());
  const auto facts = facts_of(made->certificates);
  ASSERT_TRUE(facts.has_value());
  EXPECT_TRUE(facts->is_authority);
  EXPECT_EQ(date_text(facts->not_before_unix_s), "2024-01-01");
  EXPECT_EQ(date_text(facts->not_after_unix_s), "2099-12-31");
}

TEST(TlsAuthority, AShortSecretOrAStrangeNameIsRefused) {
  EXPECT_EQ(derive_authority(std::string(15, 's'), "lab").error().code, ErrorCode::kInvalid);
  for (const char* name : {"", " lab", "a\nb", "a\x1b[1m", "\xff"}) {
    const auto made = derive_authority(kSecret, name);
    ASSERT_FALSE(made.has_value()) << name;
    EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
  }
}

}  // namespace
}  // namespace muster::agent
