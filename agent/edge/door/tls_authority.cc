#include "agent/edge/door/tls_authority.h"

#include <gmp.h>
#include <gnutls/crypto.h>
#include <nettle/ecc-curve.h>
#include <nettle/ecc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "agent/edge/door/tls_held.h"
#include "gossip/base/name.h"

namespace muster::agent {
namespace {

constexpr std::size_t kCoordinateBytes = 32;
constexpr std::size_t kHashBytes = 64;
constexpr std::int64_t kRootBeginUnixS = 1'704'067'200;  // 2024-01-01 00:00:00
constexpr std::int64_t kRootEndUnixS = 4'102'444'799;    // 2099-12-31 23:59:59

using Coordinate = std::array<unsigned char, kCoordinateBytes>;
using Hash = std::array<unsigned char, kHashBytes>;

/// Bytes that are secret; wiped at its end.
template <class T>
struct Wiped {
  Wiped() = default;
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
  ~Wiped() { gnutls_memset(bytes.data(), 0, bytes.size()); }
  T bytes{};
};

/// A number of GMP; wiped at its end.
class Number {
 public:
  Number() { mpz_init2(value_, 8 * kCoordinateBytes); }
  explicit Number(const Coordinate& bytes) : Number() {
    mpz_import(value_, bytes.size(), 1, 1, 1, 0, bytes.data());
  }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  ~Number() {
    const std::size_t limbs = mpz_size(value_);
    if (limbs > 0) {
      gnutls_memset(mpz_limbs_modify(value_, static_cast<mp_size_t>(limbs)), 0,
                    limbs * sizeof(mp_limb_t));
    }
    mpz_clear(value_);
  }
  mpz_t& get() { return value_; }
  Coordinate bytes() const {
    Coordinate out{};
    const std::size_t size = (mpz_sizeinbase(value_, 2) + 7) / 8;
    mpz_export(out.data() + (out.size() - size), nullptr, 1, 1, 1, 0, value_);
    return out;
  }

 private:
  mpz_t value_;
};

struct Scalar {
  Scalar() { ecc_scalar_init(&value, nettle_get_secp_256r1()); }
  Scalar(const Scalar&) = delete;
  Scalar& operator=(const Scalar&) = delete;
  ~Scalar() { ecc_scalar_clear(&value); }
  ecc_scalar value;
};

struct Point {
  Point() { ecc_point_init(&value, nettle_get_secp_256r1()); }
  Point(const Point&) = delete;
  Point& operator=(const Point&) = delete;
  ~Point() { ecc_point_clear(&value); }
  ecc_point value;
};

bool keyed_hash(GnutlsSteps& steps, std::string_view secret, const std::string& text, Hash& hash) {
  return steps.did(gnutls_hmac_fast(GNUTLS_MAC_SHA512, secret.data(), secret.size(), text.data(),
                                    text.size(), hash.data()));
}

gnutls_datum_t coordinate_datum(Coordinate& bytes) {
  return {bytes.data(), static_cast<unsigned int>(bytes.size())};
}

/// GnuTLS takes a key with its point alone.
bool make_key(GnutlsSteps& steps, std::string_view secret, gnutls_x509_privkey_t key) {
  Scalar scalar;
  Wiped<Coordinate> number;
  bool is_found = false;
  // Each fails with a chance of 2^-32.
  for (int counter = 0; counter <= UINT8_MAX && !is_found; ++counter) {
    Wiped<Hash> hash;
    const std::string text = std::string("muster http authority 1") + static_cast<char>(counter);
    if (!keyed_hash(steps, secret, text, hash.bytes)) {
      return false;
    }
    std::copy_n(hash.bytes.begin(), number.bytes.size(), number.bytes.begin());
    Number value(number.bytes);
    is_found = ecc_scalar_set(&scalar.value, value.get()) != 0;
  }
  if (!is_found) {
    return steps.did(GNUTLS_E_PK_GENERATION_ERROR);
  }
  Point point;
  Number x;
  Number y;
  ecc_point_mul_g(&point.value, &scalar.value);
  ecc_point_get(&point.value, x.get(), y.get());
  Coordinate x_bytes = x.bytes();
  Coordinate y_bytes = y.bytes();
  const gnutls_datum_t x_text = coordinate_datum(x_bytes);
  const gnutls_datum_t y_text = coordinate_datum(y_bytes);
  const gnutls_datum_t number_text = coordinate_datum(number.bytes);
  return steps.did(gnutls_x509_privkey_import_ecc_raw(key, GNUTLS_ECC_CURVE_SECP256R1, &x_text,
                                                      &y_text, &number_text));
}

bool make_root(GnutlsSteps& steps, std::string_view secret, const std::string& common_name,
               gnutls_x509_crt_t root, gnutls_x509_privkey_t key) {
  Hash hash{};
  if (!keyed_hash(steps, secret, "muster http root 1" + common_name, hash)) {
    return false;
  }
  const std::string serial(reinterpret_cast<const char*>(hash.data()), kSerialBytes);
  return steps.did(gnutls_x509_crt_set_key(root, key)) &&
         describe(steps, root, {serial, common_name, kRootBeginUnixS, kRootEndUnixS}) &&
         steps.did(gnutls_x509_crt_set_basic_constraints(root, 1, 0)) &&
         steps.did(
             gnutls_x509_crt_set_key_usage(root, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN)) &&
         steps.did(gnutls_x509_crt_sign2(root, root, key, GNUTLS_DIG_SHA256,
                                         GNUTLS_PRIVKEY_FLAG_REPRODUCIBLE));
}

}  // namespace

Result<HttpTls> derive_authority(std::string_view secret, const std::string& cluster_name) {
  if (secret.size() < kAuthoritySecretBytesMin) {
    return Error{ErrorCode::kInvalid, "the secret of the cluster authority has " +
                                          std::to_string(secret.size()) +
                                          " bytes, too few for an authority of HTTPS"};
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
  GnutlsSteps steps;
  if (!make_key(steps, secret, key.get()) ||
      !make_root(steps, secret, "Muster cluster " + cluster_name, root.get(), key.get())) {
    return steps.error("make the HTTPS authority");
  }
  Result<std::string> key_text = exported(key.get());
  if (!key_text.has_value()) {
    return key_text.error();
  }
  Result<std::string> root_text = exported(root.get());
  if (!root_text.has_value()) {
    return root_text.error();
  }
  return HttpTls{*std::move(key_text), *std::move(root_text)};
}

}  // namespace muster::agent
