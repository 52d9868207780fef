#pragma once
// The SSH keys of the person as this process finds them: in ssh-agent and in key files.

#include <string>

#include "cli/kit/world.h"
#include "gossip/base/result.h"

namespace muster::cli {

/// Signs by the first key that counts: of ssh-agent, then of the default file; or of the one source
/// that the wish names. `agent_socket`: the value of SSH_AUTH_SOCK, "" = no agent. kNotFound:
/// there is no such key; else as SshSigner::sign().
Result<gossip::SshSignature> sign_as_person(const SignWish& wish, const std::string& agent_socket);
/// A line, else the .pub file with it. kInvalid: as ssh_key_of_line() says, or the file cannot be
/// read.
Result<gossip::SshKeyLine> read_key(const std::string& line_or_path);
/// The public key of the file, which is made if it is not there, with its folders. kIo: they cannot
/// be made; else as read_key_file().
Result<gossip::SshKeyLine> own_key(const std::string& path, const std::string& comment);

}  // namespace muster::cli
