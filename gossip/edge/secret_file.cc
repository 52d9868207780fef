#include "gossip/edge/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "gossip/edge/file_owner.h"

namespace muster::gossip {
namespace {

constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;

std::string mode_text(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", mode & 07777);
  return text.data();
}

Error cannot(const std::string& what, const std::string& path) {
  return {ErrorCode::kInvalid, "cannot " + what + " " + path + ": " + std::strerror(errno)};
}

Result<std::string> read_all(int descriptor, const std::string& path, std::size_t bytes_max) {
  std::string text;
  while (text.size() < bytes_max) {
    std::array<char, 4096> part{};
    const ssize_t count =
        read(descriptor, part.data(), std::min(part.size(), bytes_max - text.size()));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return cannot("read", path);
    }
    if (count == 0) {
      break;
    }
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  return text;
}

bool write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) {
      return false;
    }
    done += count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  return true;
}

/// Whether a directory above it lets no other user through. False if the file has no path any more.
/// The caller excludes files of several paths.
bool is_behind_a_closed_directory(int descriptor) {
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
  for (std::filesystem::path above = path.parent_path();
       !error && !above.empty() && above != above.root_path(); above = above.parent_path()) {
    struct stat facts {};
    if (stat(above.c_str(), &facts) == 0 && is_of_us(facts) &&
        (facts.st_mode & (S_IXGRP | S_IXOTH)) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string why_not_secret(int descriptor) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return "";
  }
  if (!is_of_us(facts)) {
    return "a file of another user, uid " + std::to_string(facts.st_uid);
  }
  if ((facts.st_mode & kOfOthers) == 0 ||
      (facts.st_nlink == 1 && is_behind_a_closed_directory(descriptor))) {
    return "";
  }
  return "a file of mode " + mode_text(facts.st_mode) + ", open to other users";
}

Result<std::string> read_secret(const std::string& path, std::size_t bytes_max,
                                std::string_view harm) {
  const bool is_stdin = path == "-";
  const int file = is_stdin ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) {
    return cannot("read", path);
  }
  const std::string open_to = why_not_secret(file);
  Result<std::string> text =
      open_to.empty()
          ? read_all(file, path, bytes_max)
          : Result<std::string>(
                Error{ErrorCode::kDenied, (is_stdin ? "stdin is " : path + " is ") + open_to +
                                              ": " + std::string(harm) +
                                              "; if you are sure that no other user did, make " +
                                              (is_stdin ? std::string("that file") : "it") +
                                              " yours alone (chown, chmod 600)"});
  if (!is_stdin) {
    close(file);
  }
  return text;
}

std::string why_not_replaced(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)
             ? path + " exists and is not a regular file"
             : "";
}

Status write_secret(const std::string& path, const std::string& text) {
  if (std::string why = why_not_replaced(path); !why.empty()) {
    return Error{ErrorCode::kInvalid, std::move(why)};
  }
  std::string beside = path + ".XXXXXX";
  const int file = mkostemp(beside.data(), O_CLOEXEC);  // Mode 0600.
  if (file < 0) {
    return cannot("make", path);
  }
  const bool is_written = write_all(file, text) && fsync(file) == 0;
  const bool is_closed = close(file) == 0;
  if (is_written && is_closed && rename(beside.c_str(), path.c_str()) == 0) {
    return ok();
  }
  const Error why = cannot("write", path);
  unlink(beside.c_str());
  return why;
}

}  // namespace muster::gossip
