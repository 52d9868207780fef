#include "gossip/ssh/ssh_key.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "gossip/base/base64.h"
#include "gossip/base/check.h"
#include "gossip/base/name.h"
#include "gossip/ssh/ssh_wire.h"

namespace muster::gossip {
namespace {

constexpr std::string_view kBetweenWords = " \t";
constexpr std::string_view kLineBreaks = "\r\n";
constexpr std::string_view kCertificate = "-cert-v01@openssh.com";
constexpr std::string_view kAccepted =
    "give an ssh-ed25519 or sk-ssh-ed25519@openssh.com key (ssh-keygen -t ed25519 makes one)";
/// Types that OpenSSH knows besides those of SshKeyType.
constexpr std::string_view kRefused[] = {
    "ssh-rsa",
    "ssh-dss",
    "ssh-xmss@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "webauthn-sk-ecdsa-sha2-nistp256@openssh.com",
};

std::optional<SshKeyType> type_of(std::string_view name) {
  for (const SshKeyType type : {SshKeyType::kEd25519, SshKeyType::kSkEd25519}) {
    if (name == name_of(type)) {
      return type;
    }
  }
  return std::nullopt;
}

Error invalid(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

Error broken_key() {
  return invalid("the SSH key is cut off or mistyped: copy the whole line of the .pub file");
}

/// The error of a type that OpenSSH knows. nullopt: it knows no such type.
std::optional<Error> refusal_of(std::string_view name) {
  if (name.ends_with(kCertificate)) {
    return invalid("SSH certificates are not accepted: " + std::string(kAccepted));
  }
  if (std::find(std::begin(kRefused), std::end(kRefused), name) == std::end(kRefused)) {
    return std::nullopt;
  }
  return invalid("keys of type " + std::string(name) +
                 " are not accepted: " + std::string(kAccepted));
}

std::string_view without_ends(std::string_view text, std::string_view letters) {
  text.remove_prefix(std::min(text.find_first_not_of(letters), text.size()));
  return text.substr(0, text.find_last_not_of(letters) + 1);
}

/// Takes the first word off the line, and the blanks behind it.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find_first_of(kBetweenWords));
  line = without_ends(line.substr(word.size()), kBetweenWords);
  return word;
}

}  // namespace

std::string_view name_of(SshKeyType type) {
  switch (type) {
    case SshKeyType::kEd25519:
      return "ssh-ed25519";
    case SshKeyType::kSkEd25519:
      return "sk-ssh-ed25519@openssh.com";
  }
  CHECK(false);
  return "";
}

Result<SshKey> ssh_key_of_blob(std::string_view blob) {
  SshReader in(blob);
  const std::string_view name = in.string();
  const std::optional<SshKeyType> type = type_of(name);
  if (!type.has_value()) {
    return refusal_of(name).value_or(broken_key());
  }
  const std::string_view point = in.string();
  const bool has_application = *type == SshKeyType::kSkEd25519;
  const std::string_view application = has_application ? in.string() : std::string_view();
  if (!in.at_end() || point.size() != kSshPointBytes || application.empty() == has_application ||
      application.size() > kSshApplicationBytesMax ||
      application.find('\0') != std::string_view::npos) {
    return broken_key();
  }
  return SshKey{*type, std::string(point), std::string(application)};
}

std::string blob_of(const SshKey& key) {
  CHECK(key.point.size() == kSshPointBytes);
  CHECK(key.application.size() <= kSshApplicationBytesMax);
  SshWriter out;
  out.string(name_of(key.type)).string(key.point);
  if (key.type == SshKeyType::kSkEd25519) {
    out.string(key.application);
  }
  return out.take();
}

Result<SshKeyLine> ssh_key_of_line(std::string_view line) {
  line = without_ends(line, " \t\r\n");
  if (line.starts_with("-----BEGIN ")) {
    return invalid("that is a private key: keep it, and give the line of its .pub file");
  }
  if (line.find_first_of(kLineBreaks) != std::string_view::npos) {
    return invalid("there is more than one line: give one SSH key at a time");
  }
  const std::string_view name = take_word(line);
  const std::optional<SshKeyType> type = type_of(name);
  if (!type.has_value()) {
    return refusal_of(name).value_or(
        invalid("that is not an SSH public key: such a line begins with its type; " +
                std::string(kAccepted)));
  }
  if (line.size() > kSshKeyLineMax) {
    return broken_key();
  }
  const std::optional<std::string> blob = from_base64(take_word(line), Base64::kPadded);
  if (!blob.has_value()) {
    return broken_key();
  }
  Result<SshKey> key = ssh_key_of_blob(*blob);
  if (!key || key->type != *type) {
    return broken_key();
  }
  if (line.size() > kSshCommentBytesMax || !is_line_name(line)) {
    return invalid("the comment of the SSH key has control characters or is longer than " +
                   std::to_string(kSshCommentBytesMax) + " bytes: shorten it");
  }
  return SshKeyLine{std::move(key).value(), std::string(line)};
}

std::string to_line(const SshKeyLine& line) {
  std::string text(name_of(line.key.type));
  text += ' ';
  text += to_base64(blob_of(line.key), Base64::kPadded);
  return line.comment.empty() ? text : text + " " + line.comment;
}

std::string fingerprint(const SshKey& key, const Verifier& hashes) {
  return "SHA256:" + to_base64(hashes.sha256(blob_of(key)), Base64::kUnpadded);
}

}  // namespace muster::gossip
