#include "gossip/ssh/ssh_private_key.h"

#include <string.h>

#include <optional>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/name.h"
#include "gossip/ssh/ssh_armor.h"
#include "gossip/ssh/ssh_wire.h"

namespace muster::gossip {
namespace {

constexpr std::string_view kKeyFileLabel = "OPENSSH PRIVATE KEY";
constexpr std::string_view kKeyFileMagic{"openssh-key-v1\0", 15};
constexpr std::string_view kUnlocked = "none";
/// The block of the cipher "none", to which the list of private keys is padded.
constexpr std::size_t kPaddedTo = 8;

Error broken_key_file(const std::string& path) {
  return {ErrorCode::kInvalid, path + " is cut off or damaged: restore it, or make another key"};
}

Error only_agent(const std::string& path, std::string_view why) {
  return {ErrorCode::kImpossible,
          path + std::string(why) + ": add it to ssh-agent (ssh-add " + path + ")"};
}

/// The padding is the bytes 1, 2, 3 and on.
bool is_padding(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (static_cast<unsigned char>(bytes[i]) != i + 1) {
      return false;
    }
  }
  return true;
}

/// The list of one private key of that public key (PROTOCOL.key, section 3).
std::optional<SshPrivateKey> private_key_in(std::string_view list, const SshKey& key) {
  SshReader in(list);
  const std::uint32_t check = in.u32();
  const bool is_readable = in.u32() == check;
  const std::string_view name = in.string();
  const std::string_view point = in.string();
  const std::string_view pair = in.string();
  const std::string_view comment = in.string();
  const std::string_view padding = in.rest();
  if (!in.at_end() || !is_readable || name != name_of(key.type) || point != key.point ||
      pair.size() != kSshSeedBytes + kSshPointBytes || pair.substr(kSshSeedBytes) != point ||
      !is_padding(padding)) {
    return std::nullopt;
  }
  SshPrivateKey found;
  found.key = key;
  found.seed = pair.substr(0, kSshSeedBytes);
  if (comment.size() <= kSshCommentBytesMax && is_line_name(comment)) {
    found.comment = comment;
  }
  return found;
}

Result<SshPrivateKey> private_key_of(std::string_view bytes, const std::string& path) {
  SshReader in(bytes);
  const bool is_ours = in.take(kKeyFileMagic.size()) == kKeyFileMagic;
  const std::string_view cipher = in.string();
  in.string();  // The derivation of a key from the passphrase, and its options.
  in.string();
  const std::uint32_t count = in.u32();
  const std::string_view public_blob = in.string();
  const std::string_view list = in.string();
  const bool is_locked = cipher != kUnlocked;
  // A cipher may put a tag behind the list.
  if (!in.ok() || !is_ours || count != 1 || (!is_locked && !in.at_end())) {
    return broken_key_file(path);
  }
  const Result<SshKey> key = ssh_key_of_blob(public_blob);
  if (!key) {
    return Error{key.error().code, path + ": " + key.error().text};
  }
  if (is_locked) {
    return only_agent(path, " is locked with a passphrase");
  }
  if (key->type != SshKeyType::kEd25519) {
    return only_agent(path, " is kept in a security key");
  }
  std::optional<SshPrivateKey> found = private_key_in(list, *key);
  return found.has_value() ? Result<SshPrivateKey>(*std::move(found)) : broken_key_file(path);
}

}  // namespace

SshPrivateKey::~SshPrivateKey() {
  wipe(seed);
}

void wipe(std::string& secret) {
  explicit_bzero(secret.data(), secret.size());
  secret.clear();
}

Result<SshPrivateKey> ssh_private_key_in(std::string_view text, const std::string& path) {
  if (text.size() > kSshKeyFileMax || !is_armor(text, kKeyFileLabel)) {
    return Error{ErrorCode::kInvalid,
                 path +
                     " is not a private key of OpenSSH: give the file that ssh-keygen -t ed25519 "
                     "made, not its .pub file"};
  }
  std::optional<std::string> bytes = from_armor(text, kKeyFileLabel);
  if (!bytes.has_value()) {
    return broken_key_file(path);
  }
  Result<SshPrivateKey> key = private_key_of(*bytes, path);
  wipe(*bytes);
  return key;
}

std::string to_text(const SshPrivateKey& key, std::uint32_t check) {
  CHECK(key.key.type == SshKeyType::kEd25519);
  CHECK(key.seed.size() == kSshSeedBytes);
  std::string pair = key.seed + key.key.point;
  std::string list = SshWriter()
                         .u32(check)
                         .u32(check)
                         .string(name_of(key.key.type))
                         .string(key.key.point)
                         .string(pair)
                         .string(key.comment)
                         .take();
  for (char pad = 1; list.size() % kPaddedTo != 0; ++pad) {
    list += pad;
  }
  std::string bytes = SshWriter()
                          .raw(kKeyFileMagic)
                          .string(kUnlocked)
                          .string(kUnlocked)
                          .string("")
                          .u32(1)
                          .string(blob_of(key.key))
                          .string(list)
                          .take();
  std::string text = to_armor(bytes, kKeyFileLabel);
  wipe(pair);
  wipe(list);
  wipe(bytes);
  return text;
}

}  // namespace muster::gossip
