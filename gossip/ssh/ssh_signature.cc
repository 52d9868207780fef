#include "gossip/ssh/ssh_signature.h"

#include <optional>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/ssh/ssh_armor.h"
#include "gossip/ssh/ssh_wire.h"

namespace muster::gossip {
namespace {

constexpr std::string_view kSignatureMagic = "SSHSIG";
constexpr std::uint32_t kSignatureVersion = 1;
constexpr std::string_view kSignatureLabel = "SSH SIGNATURE";

std::string_view name_of(SshHash hash) {
  switch (hash) {
    case SshHash::kSha256:
      return "sha256";
    case SshHash::kSha512:
      return "sha512";
  }
  CHECK(false);
  return "";
}

std::optional<SshHash> hash_of(std::string_view name) {
  for (const SshHash hash : {SshHash::kSha256, SshHash::kSha512}) {
    if (name == name_of(hash)) {
      return hash;
    }
  }
  return std::nullopt;
}

bool is_namespace(std::string_view text) {
  return !text.empty() && text.size() <= kSshNamespaceBytesMax;
}

Error broken_signature() {
  return {ErrorCode::kInvalid, "the SSH signature is cut off or damaged: sign again"};
}

Error denied(std::string_view why) {
  return {ErrorCode::kDenied, "the SSH signature " + std::string(why)};
}

std::string ssh_bytes_of(const SshSignature& signature) {
  CHECK(signature.bytes.size() == kSignatureBytes);
  SshWriter out;
  out.string(name_of(signature.key.type)).string(signature.bytes);
  if (signature.key.type == SshKeyType::kSkEd25519) {
    out.byte(signature.flags).u32(signature.counter);
  }
  return out.take();
}

/// The bytes under which the Ed25519 signature stands: of a security key PROTOCOL.u2f, "SSH U2F
/// signatures".
std::string signed_words(const SshSignature& signature, std::string_view message,
                         const Verifier& hashes) {
  const std::string data = ssh_signed_data(signature.name_space, signature.hash, message, hashes);
  if (signature.key.type == SshKeyType::kEd25519) {
    return data;
  }
  return SshWriter()
      .raw(hashes.sha256(signature.key.application))
      .byte(signature.flags)
      .u32(signature.counter)
      .raw(hashes.sha256(data))
      .take();
}

}  // namespace

bool take_ssh_bytes(std::string_view encoded, SshSignature& signature) {
  SshReader in(encoded);
  const std::string_view name = in.string();
  const std::string_view bytes = in.string();
  const bool is_touched = signature.key.type == SshKeyType::kSkEd25519;
  const std::uint8_t flags = is_touched ? in.byte() : std::uint8_t{0};
  const std::uint32_t counter = is_touched ? in.u32() : 0;
  if (!in.at_end() || name != name_of(signature.key.type) || bytes.size() != kSignatureBytes) {
    return false;
  }
  signature.bytes = bytes;
  signature.flags = flags;
  signature.counter = counter;
  return true;
}

Result<SshSignature> ssh_signature_of_blob(std::string_view blob) {
  SshReader in(blob);
  if (blob.size() > kSshSignatureBlobMax || in.take(kSignatureMagic.size()) != kSignatureMagic) {
    return broken_signature();
  }
  if (in.u32() != kSignatureVersion) {
    return in.ok() ? Error{ErrorCode::kInvalid,
                           "the SSH signature has a version that this program does not know: "
                           "compare `muster version` here and there"}
                   : broken_signature();
  }
  const std::string_view key_blob = in.string();
  const std::string_view name_space = in.string();
  const std::string_view reserved = in.string();
  const std::optional<SshHash> hash = hash_of(in.string());
  const std::string_view bytes = in.string();
  if (!in.at_end() || !is_namespace(name_space) || !reserved.empty() || !hash.has_value()) {
    return broken_signature();
  }
  Result<SshKey> key = ssh_key_of_blob(key_blob);
  if (!key) {
    return key.error();
  }
  SshSignature signature;
  signature.key = std::move(key).value();
  signature.name_space = name_space;
  signature.hash = *hash;
  if (!take_ssh_bytes(bytes, signature)) {
    return broken_signature();
  }
  return signature;
}

std::string blob_of(const SshSignature& signature) {
  CHECK(is_namespace(signature.name_space));
  return SshWriter()
      .raw(kSignatureMagic)
      .u32(kSignatureVersion)
      .string(blob_of(signature.key))
      .string(signature.name_space)
      .string("")
      .string(name_of(signature.hash))
      .string(ssh_bytes_of(signature))
      .take();
}

Result<SshSignature> ssh_signature_of_armor(std::string_view text) {
  if (text.size() > kSshSignatureArmorMax) {
    return broken_signature();
  }
  const std::optional<std::string> blob = from_armor(text, kSignatureLabel);
  return blob.has_value() ? ssh_signature_of_blob(*blob) : broken_signature();
}

std::string armor_of(const SshSignature& signature) {
  return to_armor(blob_of(signature), kSignatureLabel);
}

std::string ssh_signed_data(std::string_view name_space, SshHash hash, std::string_view message,
                            const Verifier& hashes) {
  CHECK(is_namespace(name_space));
  return SshWriter()
      .raw(kSignatureMagic)
      .string(name_space)
      .string("")
      .string(name_of(hash))
      .string(hash == SshHash::kSha256 ? hashes.sha256(message) : hashes.sha512(message))
      .take();
}

SshSignature sign_ssh(const Signer& signer, std::string_view name_space, std::string_view message,
                      const Verifier& hashes) {
  SshSignature signature;
  signature.key.point = signer.public_key();
  CHECK(signature.key.point.size() == kSshPointBytes);
  signature.name_space = name_space;
  signature.bytes = signer.sign(ssh_signed_data(name_space, signature.hash, message, hashes));
  return signature;
}

Status verify(const SshSignature& signature, const SshKey& key, std::string_view name_space,
              std::string_view message, const Verifier& verifier) {
  if (signature.key != key) {
    return denied("was made with another key: sign with the key that is registered");
  }
  if (signature.name_space != name_space) {
    return denied("was made for another purpose: sign for this one");
  }
  if (key.type == SshKeyType::kSkEd25519 && (signature.flags & kSshUserPresent) == 0) {
    return denied("was made without a touch of the security key: sign again and touch it");
  }
  if (!verifier.verify(key.point, signed_words(signature, message, verifier), signature.bytes)) {
    return denied("does not fit the message: it was changed after it was signed; sign again");
  }
  return ok();
}

}  // namespace muster::gossip
