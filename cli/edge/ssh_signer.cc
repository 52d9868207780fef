#include "cli/edge/ssh_signer.h"

#include <optional>
#include <vector>

#include "agent/edge/disk/host_key.h"
#include "cli/edge/ssh_agent.h"
#include "cli/edge/ssh_key_file.h"

namespace muster::cli {
namespace {

constexpr std::string_view kPublicEnding = ".pub";

/// The one key that the agent holds.
Result<gossip::SshKey> only_key(SshAgent& agent) {
  const Result<std::vector<gossip::SshKeyLine>> keys = agent.keys();
  if (!keys) {
    return keys.error();
  }
  if (keys->empty()) {
    return Error{ErrorCode::kNotFound,
                 "ssh-agent holds no Ed25519 key: add yours (ssh-add KEYFILE), or make one "
                 "(ssh-keygen -t ed25519)"};
  }
  if (keys->size() > 1) {
    return Error{ErrorCode::kConflict, "ssh-agent holds " + std::to_string(keys->size()) +
                                           " keys: name the .pub file of the one to sign with"};
  }
  return keys->front().key;
}

}  // namespace

Result<gossip::SshSignature> SshSigner::sign(std::string_view name_space,
                                             std::string_view message) const {
  std::optional<gossip::SshKey> named;
  if (!key_file.empty() && !key_file.ends_with(kPublicEnding)) {
    const Result<gossip::SshPrivateKey> key = read_key_file(key_file);
    if (key) {
      return gossip::sign_ssh(*agent::HostKeyMaker().signer_of(key->seed), name_space, message,
                              agent::HostKeyVerifier());
    }
    const Result<gossip::SshKeyLine> line =
        read_public_key_file(key_file + std::string(kPublicEnding));
    if (key.error().code != ErrorCode::kImpossible || agent_socket.empty() || !line) {
      return key.error();
    }
    named = line->key;
  } else if (!key_file.empty()) {
    const Result<gossip::SshKeyLine> line = read_public_key_file(key_file);
    if (!line) {
      return line.error();
    }
    named = line->key;
  }
  Result<SshAgent> agent = SshAgent::connect(agent_socket);
  if (!agent) {
    return agent.error();
  }
  const Result<gossip::SshKey> key = named ? Result<gossip::SshKey>(*named) : only_key(*agent);
  if (!key) {
    return key.error();
  }
  if (key->type == gossip::SshKeyType::kSkEd25519) {
    on_touch();
  }
  return agent->sign(*key, name_space, message);
}

}  // namespace muster::cli
