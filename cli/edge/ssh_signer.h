#pragma once
// SshSigner signs as a person, with the SSH key that the person names or that ssh-agent holds.

#include <functional>
#include <string>
#include <string_view>

#include "gossip/base/result.h"
#include "gossip/ssh/ssh_signature.h"

namespace muster::cli {

struct SshSigner {
  /// A key file, or the .pub file of a key that ssh-agent holds. "": the key that ssh-agent holds,
  /// if it is one alone.
  std::string key_file;
  std::string agent_socket;  ///< The value of SSH_AUTH_SOCK; "" = there is no ssh-agent.
  /// Called before a security key waits for the touch of its owner.
  std::function<void()> on_touch = [] {};

  /// Signs with a key file that has no passphrase; else has ssh-agent sign, which holds the key
  /// that the .pub file beside the key file names. Precondition: `name_space` as of
  /// ssh_signed_data(). The error is that of read_key_file() or of SshAgent. kNotFound: ssh-agent
  /// holds no key that is accepted; kConflict: it holds several, and none is named.
  Result<gossip::SshSignature> sign(std::string_view name_space, std::string_view message) const;
};

}  // namespace muster::cli
