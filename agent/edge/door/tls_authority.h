#pragma once
// The authority of HTTPS of a cluster. It is derived from the secret of the cluster authority,
// which each host that may vote has anyway: thus all of them have the same key and, byte for byte,
// the same root certificate, and there is no other secret to keep. Another cluster authority gives
// another authority of HTTPS, whose root people have to trust again.
//
//   key   the first N = 0, 1, ... for which the first 32 bytes of HMAC-SHA-512(secret, "muster http
//         authority 1" + the byte N) are the number of a key on P-256
//   root  the serial is of HMAC-SHA-512(secret, "muster http root 1" + common name); it holds from
//         2024-01-01 to 2099-12-31; its signature is the one of RFC 6979

#include <cstddef>
#include <string>
#include <string_view>

#include "agent/edge/door/http_options.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// The least bytes of a secret that an authority is derived from.
inline constexpr std::size_t kAuthoritySecretBytesMin = 16;

/// The key, and the root certificate "Muster cluster NAME", for host certificates and no
/// authorities below it. The subject holds the first 64 characters of that. The caller keeps the
/// key secret, and wipes it (gossip::wipe). kInvalid: the secret is shorter than
/// kAuthoritySecretBytesMin, or the name is empty or not a line name. kIo: no memory.
Result<HttpTls> derive_authority(std::string_view secret, const std::string& cluster_name);

}  // namespace muster::agent
