#pragma once
// The certificates of HTTPS that a cluster makes by itself. Hosts prove themselves to each other by
// Ed25519, but browsers take no certificates of that kind. Therefore HTTPS has an authority of its
// own (tls_authority.h), with a P-256 key: people let their browsers trust its root certificate
// once, and each host has a certificate of it for its own names.
//
// Times are seconds since 1970 began, in UTC, as the caller's clock of the day shows them. A clock
// outside of 2024 to 2099 is refused: a certificate that begins at a wrong time helps no client.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/edge/door/http_options.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// Limit of a PEM text: a key, or a certificate and those that lead to its authority.
inline constexpr std::size_t kPemBytesMax = std::size_t{1} << 20;
/// Limit of one certificate without PEM. One for 100 names has about 4 KiB, and the time in which
/// GnuTLS reads names grows with the square of their number.
inline constexpr std::size_t kCertificateBytesMax = 48 * 1024;
/// Limit of the PEM text of a public key; one on P-256 has 178 bytes.
inline constexpr std::size_t kPublicKeyBytesMax = 1024;
/// Limit of the names of a new certificate; of a large host with eight networks, 30 are in use.
inline constexpr std::size_t kHostNamesMax = 128;

inline constexpr std::int64_t kDayS = 24 * 3600;
inline constexpr std::int64_t kHostLifeS = 90 * kDayS;
/// A new certificate began so long ago: the clock of a client may be slow.
inline constexpr std::int64_t kBackdateS = 3600;

/// The names by which clients reach a host. normalized() gives each set of names one form.
struct HostNames {
  std::vector<std::string> dns{};        ///< "node17", "node17.example.com"
  std::vector<std::string> addresses{};  ///< "10.0.0.17", "fd00::17"

  bool operator==(const HostNames&) const = default;
};

/// DNS names in small letters; an IPv4 address that is mapped into IPv6 as IPv4; each name once, in
/// order. Text that is not a name stays as it is.
HostNames normalized(HostNames names);

struct CertificateFacts {
  std::int64_t not_before_unix_s = 0;
  std::int64_t not_after_unix_s = 0;
  std::string fingerprint;  ///< SHA-256 of the certificate: 64 hexadecimal digits, small letters.
  HostNames names;          ///< normalized(); other kinds of names are left out.
  bool is_authority = false;
};

/// A new key on P-256, in PEM. The caller keeps it secret, and wipes it (gossip::wipe). kIo: GnuTLS
/// has no memory or no randomness.
Result<std::string> make_host_key();
/// The public key of a key in PEM, in PEM. kInvalid: it cannot be read.
Result<std::string> public_key_of(const std::string& key);

/// A certificate of `authority` for a server of these names that has the key of `public_key`, which
/// ends after kHostLifeS or with the authority. The root is not part of the chain: a client that
/// trusts it has it, and a client that lacks it may not trust what a server sends. Thus each
/// handshake is shorter by 600 bytes. kInvalid: there is no name, or one is no DNS name or address,
/// or there are more than kHostNamesMax; or the key is not one on P-256, or has more than
/// kPublicKeyBytesMax; or the clock is wrong. kImpossible: `authority` is no authority, its key
/// does not fit, or it does not hold at this time. kIo: as above. Safe for any public key.
Result<std::string> sign_host(const HttpTls& authority, std::string_view public_key,
                              const HostNames& names, std::int64_t now_unix_s);

/// The first certificate in `pem`. Proves nothing: neither its signature nor its times are checked.
/// kInvalid: there is no certificate that can be read, a name in it is not text, or a limit above
/// is passed. Safe for any bytes.
Result<CertificateFacts> facts_of(std::string_view pem);

/// Whether a host makes a new certificate: two thirds of its life are over (60 of 90 days), it does
/// not hold yet because the clock went back, or it is for other names than `names`.
bool is_due(const CertificateFacts& facts, const HostNames& names, std::int64_t now_unix_s);

/// "2026-11-28": for people, in UTC. A time outside of the years 1 to 9999 gives the nearest day.
std::string date_text(std::int64_t unix_s);

}  // namespace muster::agent
