#pragma once
// The files in which a person keeps an SSH key: the private key, which only its owner can read, and
// the .pub file beside it.

#include <string>

#include "gossip/base/result.h"
#include "gossip/ssh/ssh_private_key.h"

namespace muster::cli {

/// Reads an Ed25519 key without a passphrase. kDenied: others can read the file (gossip/edge/
/// secret_file.h). kInvalid: it cannot be read, or as ssh_private_key_in() says, or its two keys do
/// not belong together. kImpossible: only ssh-agent can sign with it, as the text says.
Result<gossip::SshPrivateKey> read_key_file(const std::string& path);
/// Reads the line of a .pub file. kInvalid: as ssh_key_of_line() says, or it cannot be read.
Result<gossip::SshKeyLine> read_public_key_file(const std::string& path);
/// Makes a key pair: the file at `path`, of mode 0600, without a passphrase, and PATH.pub, of mode
/// 0644 less the umask. `comment` as in SshKeyLine. kConflict: there is such a file already, which
/// stays. kInvalid: the comment is not valid. kIo: a file cannot be written. No file of ours is
/// left then.
Result<gossip::SshKeyLine> make_key_file(const std::string& path, const std::string& comment);

}  // namespace muster::cli
