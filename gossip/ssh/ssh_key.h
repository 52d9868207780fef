#pragma once
// SshKey is the public key of a person, as OpenSSH writes it: an Ed25519 key (RFC 8709), or one in
// a FIDO security key (PROTOCOL.u2f). It is a value. No other type is accepted: an RSA key may be
// too short, an ECDSA key leaks by a bad random number, and a certificate is trusted for its
// issuer.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gossip/base/result.h"
#include "gossip/base/signing.h"

namespace muster::gossip {

enum class SshKeyType : std::uint8_t {
  kEd25519,    ///< "ssh-ed25519"
  kSkEd25519,  ///< "sk-ssh-ed25519@openssh.com": its owner touches the security key to sign.
};

inline constexpr std::size_t kSshPointBytes = 32;
/// Limit of the application of a security key: "ssh:" and a word of its owner.
inline constexpr std::size_t kSshApplicationBytesMax = 128;
inline constexpr std::size_t kSshCommentBytesMax = 256;
/// No key that is accepted has a longer blob or line.
inline constexpr std::size_t kSshKeyBlobMax = 256;
inline constexpr std::size_t kSshKeyLineMax = 1024;

/// The name of the type in lines and blobs.
std::string_view name_of(SshKeyType type);

struct SshKey {
  SshKeyType type = SshKeyType::kEd25519;
  std::string point;        ///< The Ed25519 public key, of kSshPointBytes.
  std::string application;  ///< Of a security key: 1 to kSshApplicationBytesMax, no zero byte.
  bool operator==(const SshKey&) const = default;
};

/// A key and the comment behind it, by which its owner knows it; the comment may be "".
struct SshKeyLine {
  SshKey key;
  std::string comment;
  bool operator==(const SshKeyLine&) const = default;
};

/// Parses the public key of RFC 4253, section 6.6. kInvalid: it is of another type, which the text
/// names; or it is cut off, too long or has a tail. A key has one blob. The point is not checked:
/// no signature verifies by a key whose point is not on the curve or has a small order.
Result<SshKey> ssh_key_of_blob(std::string_view blob);
/// Precondition: the sizes of SshKey.
std::string blob_of(const SshKey& key);

/// Parses a line of a .pub file or of authorized_keys, without options: type, base64 of the blob,
/// comment. Blanks around it and between its parts do not count. kInvalid, besides the reasons of
/// ssh_key_of_blob(): it has several lines or options, is a private key, or has a comment that is
/// too long or is no line name (gossip/base/name.h).
Result<SshKeyLine> ssh_key_of_line(std::string_view line);
/// "ssh-ed25519 AAAA... comment", without a line break.
std::string to_line(const SshKeyLine& line);

/// "SHA256:" and the base64 of the hash of the blob, without padding, as `ssh-keygen -l` prints it.
std::string fingerprint(const SshKey& key, const Verifier& hashes);

}  // namespace muster::gossip
