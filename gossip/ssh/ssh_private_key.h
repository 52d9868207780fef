#pragma once
// SshPrivateKey is an Ed25519 key pair as the text of an OpenSSH key file, "openssh-key-v1"
// (PROTOCOL.key), without a passphrase. Pure: the caller reads and writes the file, and keeps the
// text as secret as the seed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gossip/base/result.h"
#include "gossip/ssh/ssh_key.h"

namespace muster::gossip {

inline constexpr std::size_t kSshSeedBytes = 32;
/// Limit of the text of a key file. One of RSA with 16,384 bits, which is refused by its type, has
/// about 12,000 bytes.
inline constexpr std::size_t kSshKeyFileMax = 16'384;

/// Each copy has its own seed and wipes it from memory at its end.
struct SshPrivateKey {
  SshPrivateKey() = default;
  SshPrivateKey(const SshPrivateKey&) = default;
  SshPrivateKey(SshPrivateKey&&) = default;
  SshPrivateKey& operator=(const SshPrivateKey&) = delete;
  ~SshPrivateKey();

  SshKey key;           ///< Of kEd25519. The caller checks that it is the key of the seed.
  std::string seed;     ///< Of kSshSeedBytes: the private key of RFC 8032.
  std::string comment;  ///< "" if the comment in the file is no comment of an SshKeyLine.
};

/// Overwrites the bytes, and makes it empty.
void wipe(std::string& secret);

/// Parses the text of the file at `path`, which only the errors name. kInvalid: it is no such file,
/// or it is cut off or damaged; its key is of a type that is not accepted. kImpossible: the key
/// is locked with a passphrase or is kept in a security key, so that only ssh-agent can sign with
/// it.
Result<SshPrivateKey> ssh_private_key_in(std::string_view text, const std::string& path);
/// The text of a key file that ssh-keygen reads. `check` is any number: the format holds it twice
/// to show a wrong passphrase.
std::string to_text(const SshPrivateKey& key, std::uint32_t check);

}  // namespace muster::gossip
