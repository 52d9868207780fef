#include "cli/edge/person_signer.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

#include "cli/edge/ssh_agent.h"
#include "cli/edge/ssh_key_file.h"
#include "cli/edge/ssh_signer.h"

namespace muster::cli {
namespace {

constexpr std::string_view kAgentWord = "agent";
constexpr std::string_view kPubEnding = ".pub";
/// Another `muster init` may be writing the file just now.
constexpr int kLooksAtNewFile = 10;
constexpr std::chrono::milliseconds kLookAgainAtFile{50};

const SignWish::Choice* choice_of(const SignWish& wish, const gossip::SshKey& key) {
  const auto found = std::find_if(wish.choices.begin(), wish.choices.end(),
                                  [&](const auto& each) { return each.key == key; });
  return found == wish.choices.end() ? nullptr : &*found;
}

void ask_for_touch() {
  std::cerr << "muster: touch your security key to sign\n" << std::flush;
}

/// The public key of a key file or of a .pub file.
Result<gossip::SshKey> public_key_in(const std::string& path) {
  if (path.ends_with(kPubEnding)) {
    const auto line = read_public_key_file(path);
    return line ? Result<gossip::SshKey>(line->key) : Result<gossip::SshKey>(line.error());
  }
  const auto key = read_key_file(path);
  if (key) {
    return key->key;
  }
  const auto line = read_public_key_file(path + std::string(kPubEnding));
  const bool is_locked = key.error().code == ErrorCode::kImpossible;
  return is_locked && line ? Result<gossip::SshKey>(line->key)
                           : Result<gossip::SshKey>(key.error());
}

Result<gossip::SshSignature> sign_with_file(const SignWish& wish, const std::string& path,
                                            const std::string& agent_socket) {
  const Result<gossip::SshKey> key = public_key_in(path);
  if (!key) {
    return key.error();
  }
  const SignWish::Choice* choice = choice_of(wish, *key);
  if (choice == nullptr) {
    return Error{ErrorCode::kNotFound, "the key in " + path +
                                           " is not one of yours in the cluster: `muster whoami` "
                                           "lists them"};
  }
  return SshSigner{path, agent_socket, ask_for_touch}.sign(wish.name_space, choice->message);
}

Result<gossip::SshSignature> sign_with_agent(const SignWish& wish,
                                             const std::string& agent_socket) {
  Result<SshAgent> agent = SshAgent::connect(agent_socket);
  if (!agent) {
    return agent.error();
  }
  const Result<std::vector<gossip::SshKeyLine>> keys = agent->keys();
  if (!keys) {
    return keys.error();
  }
  for (const gossip::SshKeyLine& line : *keys) {
    if (const SignWish::Choice* choice = choice_of(wish, line.key)) {
      if (line.key.type == gossip::SshKeyType::kSkEd25519) {
        ask_for_touch();
      }
      return agent->sign(line.key, wish.name_space, choice->message);
    }
  }
  return Error{ErrorCode::kNotFound,
               "ssh-agent holds none of your keys of the cluster: `muster whoami` lists them"};
}

/// Makes the folders above the file, for their owner alone.
Status make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return Error{ErrorCode::kIo, "cannot make " + folder + ": " + std::strerror(errno) +
                                       "; name a key of yours with --ssh-key FILE"};
    }
  }
  return ok();
}

}  // namespace

Result<gossip::SshSignature> sign_as_person(const SignWish& wish, const std::string& agent_socket) {
  if (wish.sign_with == kAgentWord) {
    return sign_with_agent(wish, agent_socket);
  }
  if (!wish.sign_with.empty()) {
    return sign_with_file(wish, wish.sign_with, agent_socket);
  }
  if (!agent_socket.empty()) {
    auto signature = sign_with_agent(wish, agent_socket);
    const bool may_be_in_file = !signature && (signature.error().code == ErrorCode::kNotFound ||
                                               signature.error().code == ErrorCode::kUnavailable);
    if (!may_be_in_file) {
      return signature;
    }
  }
  struct stat found {};
  if (stat(wish.default_file.c_str(), &found) == 0) {
    return sign_with_file(wish, wish.default_file, agent_socket);
  }
  return Error{ErrorCode::kNotFound,
               "only a signed order may do that, and neither ssh-agent nor " + wish.default_file +
                   " has a key of yours in the cluster: run it where your key is, or give "
                   "--sign-with FILE"};
}

Result<gossip::SshKeyLine> read_key(const std::string& line_or_path) {
  const bool is_line = line_or_path.find(' ') != std::string::npos;
  struct stat found {};
  return is_line && stat(line_or_path.c_str(), &found) != 0 ? gossip::ssh_key_of_line(line_or_path)
                                                            : read_public_key_file(line_or_path);
}

Result<gossip::SshKeyLine> own_key(const std::string& path, const std::string& comment) {
  if (const Status folders = make_folders(path); !folders) {
    return folders.error();
  }
  Result<gossip::SshKeyLine> made = make_key_file(path, comment);
  if (made || made.error().code != ErrorCode::kConflict) {
    return made;
  }
  for (int looks = 1;; ++looks) {
    const auto key = read_key_file(path);
    if (key) {
      return gossip::SshKeyLine{key->key, key->comment};
    }
    if (looks == kLooksAtNewFile) {
      return key.error();
    }
    std::this_thread::sleep_for(kLookAgainAtFile);
  }
}

}  // namespace muster::cli
