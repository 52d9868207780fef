#pragma once
// SshAgent is a conversation with the ssh-agent of a user over its unix socket
// (draft-miller-ssh-agent): it lists the keys that the agent holds and has it sign. It blocks, each
// answer within a limit. An agent is no friend by itself: its answers are bounded and parsed like
// bytes of others, and a signature is verified before it is handed out.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "gossip/ssh/ssh_signature.h"

namespace muster::cli {

/// The longest that an answer may take.
struct SshAgentLimits {
  Duration answer = std::chrono::seconds(5);
  /// Of a signature by a security key, whose owner has to touch it.
  Duration touch = std::chrono::seconds(30);
};

class SshAgent {
 public:
  /// `path`: the value of SSH_AUTH_SOCK. kUnavailable: it is "", or no agent listens there.
  static Result<SshAgent> connect(const std::string& path, SshAgentLimits limits = {});

  /// The keys that it holds, in its order, without those of types that are not accepted. A comment
  /// that is no line name (gossip/base/name.h) reads as "". kUnavailable: it does not answer in
  /// time, or ends the conversation; kInvalid: it answers something else.
  Result<std::vector<gossip::SshKeyLine>> keys();
  /// Signs by SHA-512. Precondition: `name_space` as of ssh_signed_data(). kNotFound: it does not
  /// hold the key. kDenied: it holds the key and refuses, for it is locked, or its owner said no or
  /// did not touch the key in time. Else as keys().
  Result<gossip::SshSignature> sign(const gossip::SshKey& key, std::string_view name_space,
                                    std::string_view message);

 private:
  SshAgent(agent::Fd socket, SshAgentLimits limits) : socket_(std::move(socket)), limits_(limits) {}
  /// The answer to the request, without its length.
  Result<std::string> ask(std::string_view request, Duration limit);
  Error why_refused(const gossip::SshKey& key);

  agent::Fd socket_;
  SshAgentLimits limits_;
};

}  // namespace muster::cli
