#pragma once
// SshSignature is the signature of a person under a message, as `ssh-keygen -Y sign` makes it and
// as PROTOCOL.sshsig of OpenSSH describes it. It names the purpose of the signature, its namespace:
// one that was made for files or for git does not count for a request. All here is pure: every
// voter that applies the same entry comes to the same answer.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gossip/base/result.h"
#include "gossip/base/signing.h"
#include "gossip/ssh/ssh_key.h"

namespace muster::gossip {

enum class SshHash : std::uint8_t { kSha256, kSha512 };

inline constexpr std::size_t kSshNamespaceBytesMax = 64;
/// No signature that is accepted has a longer blob or armor.
inline constexpr std::size_t kSshSignatureBlobMax = 768;
inline constexpr std::size_t kSshSignatureArmorMax = 2048;
/// Flags of a security key (WebAuthn, 6.1): its owner touched it.
inline constexpr std::uint8_t kSshUserPresent = 0x01;

struct SshSignature {
  SshKey key;  ///< By its own word: verify() compares it with the key that is expected.
  std::string name_space;
  SshHash hash = SshHash::kSha512;
  std::string bytes;          ///< The Ed25519 signature, of kSignatureBytes.
  std::uint8_t flags = 0;     ///< Of a security key; else 0.
  std::uint32_t counter = 0;  ///< Signatures of the security key so far, if it counts; else 0.
  bool operator==(const SshSignature&) const = default;
};

/// The signature and its key, as both stand in the blob and as ssh-agent answers (RFC 8709, section
/// 6; PROTOCOL.u2f): takes them into `signature`, whose key is set. False if they are of another
/// type than the key, cut off or have a tail; `signature` is unchanged.
bool take_ssh_bytes(std::string_view encoded, SshSignature& signature);

/// Parses the blob (PROTOCOL.sshsig, section 2). A signature has one blob: the field that is
/// reserved has to be empty, though the format lets readers ignore it. kInvalid: the key is of a
/// type that is not accepted, the version is unknown, or the blob is cut off, too long or has a
/// tail.
Result<SshSignature> ssh_signature_of_blob(std::string_view blob);
/// Precondition: the sizes of SshSignature.
std::string blob_of(const SshSignature& signature);
/// The same in the armor that ssh-keygen writes to a .sig file.
Result<SshSignature> ssh_signature_of_armor(std::string_view text);
std::string armor_of(const SshSignature& signature);

/// The bytes that an Ed25519 key signs, and of which a security key signs a hash (PROTOCOL.sshsig,
/// section 3). Precondition: `name_space` has 1 to kSshNamespaceBytesMax bytes.
std::string ssh_signed_data(std::string_view name_space, SshHash hash, std::string_view message,
                            const Verifier& hashes);

/// Signs with an Ed25519 key, by SHA-512 as ssh-keygen does. Precondition: that of
/// ssh_signed_data(), and the public key of `signer` has kSshPointBytes.
SshSignature sign_ssh(const Signer& signer, std::string_view name_space, std::string_view message,
                      const Verifier& hashes);

/// kDenied, with the reason for people: the signature is of another key than `key`, or for another
/// namespace; the owner of the security key did not touch it; or it was not made with that key
/// under that message. The counter is not judged: the log does not count by it.
Status verify(const SshSignature& signature, const SshKey& key, std::string_view name_space,
              std::string_view message, const Verifier& verifier);

}  // namespace muster::gossip
