#include "cli/edge/ssh_key_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "agent/edge/disk/host_key.h"
#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/base/check.h"
#include "gossip/base/name.h"
#include "gossip/edge/secret_file.h"

namespace muster::cli {
namespace {

constexpr mode_t kOfOwner = 0600;
constexpr mode_t kOfAll = 0644;

void fill_at_random(void* bytes, std::size_t size_bytes) {
  CHECK(getrandom(bytes, size_bytes, 0) == static_cast<ssize_t>(size_bytes));
}

bool write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno != EINTR) {
      return false;
    }
    text.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  return fsync(file) == 0;
}

/// Makes a file where there is no file; an error leaves none of ours.
Status make_file(const std::string& path, mode_t mode, std::string_view text) {
  agent::Fd file(open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode));
  if (!file.is_open()) {
    return errno == EEXIST
               ? Error{ErrorCode::kConflict,
                       path + " exists: name another file, or keep using that key"}
               : Error{ErrorCode::kIo, "cannot make " + path + ": " + std::strerror(errno)};
  }
  if (!write_whole(file.get(), text)) {
    const Error why{ErrorCode::kIo, "cannot write " + path + ": " + std::strerror(errno)};
    unlink(path.c_str());
    return why;
  }
  return ok();
}

}  // namespace

Result<gossip::SshPrivateKey> read_key_file(const std::string& path) {
  // One byte more than the limit shows that the file is longer.
  Result<std::string> text = gossip::read_secret(path, gossip::kSshKeyFileMax + 1,
                                                 "anyone who read it can sign in your name");
  if (!text) {
    return text.error();
  }
  Result<gossip::SshPrivateKey> key = gossip::ssh_private_key_in(*text, path);
  gossip::wipe(*text);
  if (key && agent::HostKeyMaker().signer_of(key->seed)->public_key() != key->key.point) {
    return Error{ErrorCode::kInvalid,
                 path + " holds two keys that do not belong together: restore it, or make another"};
  }
  return key;
}

Result<gossip::SshKeyLine> read_public_key_file(const std::string& path) {
  const std::optional<std::string> text = agent::read_file(path);
  if (!text.has_value()) {
    return Error{ErrorCode::kInvalid, "cannot read " + path + ": " + std::strerror(errno)};
  }
  Result<gossip::SshKeyLine> line = gossip::ssh_key_of_line(*text);
  return line ? line : Error{line.error().code, path + ": " + line.error().text};
}

Result<gossip::SshKeyLine> make_key_file(const std::string& path, const std::string& comment) {
  if (comment.size() > gossip::kSshCommentBytesMax || !is_line_name(comment)) {
    return Error{ErrorCode::kInvalid, "the comment of a key is one line of at most " +
                                          std::to_string(gossip::kSshCommentBytesMax) +
                                          " bytes without control characters"};
  }
  gossip::SshPrivateKey key;
  key.seed.resize(gossip::kSshSeedBytes);
  std::uint32_t check = 0;
  fill_at_random(key.seed.data(), key.seed.size());
  fill_at_random(&check, sizeof check);
  key.key.point = agent::HostKeyMaker().signer_of(key.seed)->public_key();
  key.comment = comment;
  const gossip::SshKeyLine line{key.key, comment};
  std::string text = gossip::to_text(key, check);
  const Status is_made = make_file(path, kOfOwner, text);
  gossip::wipe(text);
  if (!is_made) {
    return is_made.error();
  }
  const Status is_told = make_file(path + ".pub", kOfAll, gossip::to_line(line) + "\n");
  if (!is_told) {
    unlink(path.c_str());
    return is_told.error();
  }
  return line;
}

}  // namespace muster::cli
