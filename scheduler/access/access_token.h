#pragma once
// AccessToken is a secret with which a program asks in the name of a user, as one line that people
// copy. The holder of the line has the token. The log keeps the id and a hash, never the secret.
// It is no Token (gossip/base/ids.h), which fences attempts.
//
// "muster-access-1." and, in base64url, [version, cluster id, token id, secret] and a checksum.
//
// Why the cluster may believe it: the client draws the secret and tells the log a hash, so no host
// has it before its first use. The line is itself the proof; therefore any host may take it, also
// one that may not vouch for its logins. The host that answers, or the leader before it proposes an
// order, compares the line with the hash of its own directory. A host that may vouch sends on the
// id alone: it is believed as it is believed for its logins. Any other host sends on the line, by a
// link that is encrypted between the two. An entry names the id, and each voter asks the gate
// for the token's rights again. A host that a line passed through could use it until it is revoked,
// within the rights of the token and never for what an administrator signs.

#include <cstddef>
#include <string>
#include <string_view>

#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/base/signing.h"
#include "scheduler/protocol/users.h"

namespace muster::scheduler {

inline constexpr std::size_t kAccessSecretBytes = 32;
/// Limit of a line that is read; ours are shorter than 150 bytes.
inline constexpr std::size_t kAccessLineMax = 4'096;

struct AccessToken {
  ClusterId cluster;
  AccessTokenId id;
  std::string secret;  ///< kAccessSecretBytes, drawn at random.
  bool operator==(const AccessToken&) const = default;
};

/// Precondition: the size of the secret.
std::string to_line(const AccessToken& token);
/// Parses a line; blanks around it are ignored. kInvalid says what is wrong: the line is cut off,
/// mistyped, of a version that this program does not know, or no access token. A later version may
/// append elements, which are ignored.
Result<AccessToken> access_token_in(std::string_view line);
/// The same, of `cluster`. kDenied: the token belongs to another cluster.
Result<AccessToken> access_token_of(std::string_view line, ClusterId cluster);

/// The hash that the log keeps, of kSha256Bytes. It covers the cluster and the id too, so that it
/// proves no other token. It needs no salt and no slow function: a secret of 256 random bits is not
/// guessed.
std::string hash_of(const AccessToken& token, const gossip::Verifier& hashes);
/// Whether the token is the one with that hash. The time it takes does not depend on the bytes.
bool is_token_of(const AccessToken& token, std::string_view hash, const gossip::Verifier& hashes);

}  // namespace muster::scheduler
