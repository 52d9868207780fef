#include "agent/edge/supervisor/rank_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace muster::agent {
namespace {

constexpr std::size_t kCopyBytes = 64 * 1024;
/// More than a pipe holds, so that one copy() after the end of a rank has its last word.
constexpr int kCopiesMax = 32;

}  // namespace

Status RankOutput::open(const std::string& log, std::uint64_t bytes_max) {
  Fd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat info {};
  int ends[2] = {-1, -1};
  if (!file.is_open() || fstat(file.get(), &info) != 0 || pipe2(ends, O_CLOEXEC) != 0) {
    return Error{ErrorCode::kIo, log + ": " + errno_text(errno)};
  }
  read_end_ = Fd(ends[0]);
  write_end_ = Fd(ends[1]);
  log_ = std::move(file);
  const auto there = static_cast<std::uint64_t>(info.st_size);
  left_ = bytes_max - std::min(bytes_max, there);
  if (fcntl(read_end_.get(), F_SETFL, O_NONBLOCK) != 0) {
    return Error{ErrorCode::kIo, log + ": " + errno_text(errno)};
  }
  return ok();
}

void RankOutput::copy() {
  char bytes[kCopyBytes];
  for (int i = 0; i < kCopiesMax && read_end_.is_open(); ++i) {
    const ssize_t count = read(read_end_.get(), bytes, sizeof bytes);
    if (count > 0) {
      keep(bytes, static_cast<std::size_t>(count));
    } else if (count == 0) {
      read_end_.reset();
    } else if (errno != EINTR) {
      return;
    }
  }
}

void RankOutput::keep(const char* bytes, std::size_t size) {
  const std::size_t kept = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
  append(bytes, kept);
  left_ -= kept;
  if (kept < size && !is_cap_told_) {
    static const std::string note = "\nmuster: the output is too long; the rest of it is dropped\n";
    is_cap_told_ = true;
    append(note.data(), note.size());
  }
}

/// What a full disk does not take is gone; the rank is not made to wait for space.
void RankOutput::append(const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t count = write(log_.get(), bytes, size);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return;
    }
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
}

}  // namespace muster::agent
