#include "cli/edge/ssh_agent.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "agent/edge/disk/host_key.h"
#include "gossip/base/name.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/ssh/ssh_wire.h"

namespace muster::cli {
namespace {

/// Types of messages (draft-miller-ssh-agent, section 5).
constexpr std::uint8_t kRequestIdentities = 11;
constexpr std::uint8_t kIdentitiesAnswer = 12;
constexpr std::uint8_t kSignRequest = 13;
constexpr std::uint8_t kSignResponse = 14;
/// The bound of OpenSSH's own client: room for some hundred keys.
constexpr std::size_t kAnswerBytesMax = 262'144;
constexpr std::size_t kLengthBytes = 4;

Error unavailable(std::string text) {
  return {ErrorCode::kUnavailable, std::move(text)};
}

Error not_understood() {
  return {ErrorCode::kInvalid,
          "cannot read the answer of ssh-agent: restart it, or sign with a key file"};
}

/// The first whole answer in the buffer; nullopt if more bytes are needed. kInvalid: it is longer
/// than an answer may be, or has a tail.
Result<std::optional<std::string>> answer_in(const std::string& buffer) {
  if (buffer.size() < kLengthBytes) {
    return std::optional<std::string>();
  }
  const std::size_t size = gossip::SshReader(buffer).u32();
  if (size == 0 || size > kAnswerBytesMax || buffer.size() > kLengthBytes + size) {
    return not_understood();
  }
  if (buffer.size() < kLengthBytes + size) {
    return std::optional<std::string>();
  }
  return std::optional(buffer.substr(kLengthBytes));
}

/// Waits until there is something to read. False if the time is over.
bool wait_to_read(int socket, Instant deadline) {
  for (Instant now = boot_now(); now < deadline; now = boot_now()) {
    pollfd item{socket, POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
    const int fired = poll(&item, 1, static_cast<int>(left.count()));
    if (fired > 0 || (fired < 0 && errno != EINTR)) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<SshAgent> SshAgent::connect(const std::string& path, SshAgentLimits limits) {
  static constexpr const char* kNext = "; start one and add your key (ssh-add), or name a key file";
  if (path.empty()) {
    return unavailable(std::string("there is no ssh-agent: SSH_AUTH_SOCK is not set") + kNext);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return unavailable("the path in SSH_AUTH_SOCK is too long for a socket" + std::string(kNext));
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  agent::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open() ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return unavailable("no ssh-agent listens at " + path +
                       " (SSH_AUTH_SOCK): " + std::strerror(errno) + kNext);
  }
  return SshAgent(std::move(socket), limits);
}

Result<std::string> SshAgent::ask(std::string_view request, Duration limit) {
  const Instant deadline = boot_now() + limit;
  if (!agent::send_all(socket_.get(), gossip::SshWriter().string(request).take())) {
    return unavailable("ssh-agent takes no request: restart it, or sign with a key file");
  }
  std::string buffer;
  while (wait_to_read(socket_.get(), deadline)) {
    const bool is_open = agent::receive_some(socket_.get(), buffer);
    Result<std::optional<std::string>> answer = answer_in(buffer);
    if (!answer) {
      return answer.error();
    }
    if (answer->has_value()) {
      return **std::move(answer);
    }
    if (!is_open) {
      return unavailable("ssh-agent ended the conversation: restart it, or sign with a key file");
    }
  }
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(limit).count();
  return unavailable("ssh-agent did not answer within " + std::to_string(seconds) +
                     " s: is it waiting for you? answer it and repeat");
}

Result<std::vector<gossip::SshKeyLine>> SshAgent::keys() {
  const Result<std::string> answer =
      ask(gossip::SshWriter().byte(kRequestIdentities).take(), limits_.answer);
  if (!answer) {
    return answer.error();
  }
  gossip::SshReader in(*answer);
  if (in.byte() != kIdentitiesAnswer) {
    return not_understood();
  }
  std::vector<gossip::SshKeyLine> keys;
  for (std::uint32_t left = in.u32(); left > 0 && in.ok(); --left) {
    const Result<gossip::SshKey> key = gossip::ssh_key_of_blob(in.string());
    const std::string_view comment = in.string();
    if (in.ok() && key) {
      const bool is_shown = comment.size() <= gossip::kSshCommentBytesMax && is_line_name(comment);
      keys.push_back({*key, is_shown ? std::string(comment) : ""});
    }
  }
  if (!in.at_end()) {
    return not_understood();
  }
  return keys;
}

Result<gossip::SshSignature> SshAgent::sign(const gossip::SshKey& key, std::string_view name_space,
                                            std::string_view message) {
  const agent::HostKeyVerifier verifier;
  gossip::SshSignature signature;
  signature.key = key;
  signature.name_space = name_space;
  const bool waits_for_touch = key.type == gossip::SshKeyType::kSkEd25519;
  const Result<std::string> answer =
      ask(gossip::SshWriter()
              .byte(kSignRequest)
              .string(gossip::blob_of(key))
              .string(gossip::ssh_signed_data(name_space, signature.hash, message, verifier))
              .u32(0)  // Flags: they choose the hash of RSA.
              .take(),
          waits_for_touch ? limits_.touch : limits_.answer);
  if (!answer) {
    return answer.error();
  }
  gossip::SshReader in(*answer);
  if (in.byte() != kSignResponse) {
    return why_refused(key);
  }
  const std::string_view bytes = in.string();
  if (!in.at_end() || !gossip::take_ssh_bytes(bytes, signature)) {
    return not_understood();
  }
  const Status status = gossip::verify(signature, key, name_space, message, verifier);
  if (!status) {
    return Error{ErrorCode::kInvalid,
                 "ssh-agent gave a signature that does not count: " + status.error().text};
  }
  return signature;
}

Error SshAgent::why_refused(const gossip::SshKey& key) {
  const std::string name = gossip::fingerprint(key, agent::HostKeyVerifier());
  const Result<std::vector<gossip::SshKeyLine>> held = keys();
  if (!held) {
    return held.error();
  }
  const bool is_held = std::any_of(held->begin(), held->end(),
                                   [&](const gossip::SshKeyLine& line) { return line.key == key; });
  if (!is_held) {
    return {ErrorCode::kNotFound,
            "ssh-agent does not hold the key " + name + ": add it (ssh-add KEYFILE) and repeat"};
  }
  return {ErrorCode::kDenied, "ssh-agent refuses to sign with the key " + name +
                                  ": unlock it, confirm or touch the key, and repeat"};
}

}  // namespace muster::cli
