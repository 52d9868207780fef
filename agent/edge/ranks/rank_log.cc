#include "agent/edge/ranks/rank_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace muster::agent {
namespace {

/// Space is taken in pieces of this size, so that a line costs no call of its own; higher: more is
/// taken for each running rank that writes little.
constexpr std::uint64_t kTakenAhead = 64 * 1024;

std::uint64_t rounded_up(std::uint64_t bytes) {
  return (bytes + kTakenAhead - 1) / kTakenAhead * kTakenAhead;
}

}  // namespace

Status RankLog::open(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat info {};
  if (!file.is_open() || fstat(file.get(), &info) != 0) {
    return Error{ErrorCode::kIo, path + ": " + errno_text(errno)};
  }
  file_ = std::move(file);
  size_ = taken_ = static_cast<std::uint64_t>(info.st_size);
  if (size_ > 0 && pread(file_.get(), &last_, 1, static_cast<off_t>(size_ - 1)) != 1) {
    last_ = '\0';
  }
  take(size_ + kNoteBytesMax);
  return ok();
}

bool RankLog::take(std::uint64_t until) {
  if (!can_take_ || until <= taken_) {
    return true;
  }
  for (const std::uint64_t end : {rounded_up(until), until}) {
    int failed = 0;
    do {
      failed = fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(taken_),
                         static_cast<off_t>(end - taken_));
    } while (failed != 0 && errno == EINTR);
    if (failed == 0) {
      taken_ = end;
      return true;
    }
    error_ = errno;
    if (error_ == EOPNOTSUPP || error_ == ENOSYS) {
      can_take_ = false;
      return true;
    }
  }
  return false;
}

std::size_t RankLog::write_at_end(std::string_view bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = pwrite(file_.get(), bytes.data() + written, bytes.size() - written,
                                 static_cast<off_t>(size_));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      error_ = count < 0 ? errno : EIO;
      break;
    }
    written += static_cast<std::size_t>(count);
    size_ += static_cast<std::uint64_t>(count);
    last_ = bytes[written - 1];
  }
  return written;
}

std::size_t RankLog::append(std::string_view bytes) {
  if (!take(size_ + bytes.size() + kNoteBytesMax)) {
    const std::uint64_t kept = std::min(taken_, size_ + kNoteBytesMax);
    bytes = bytes.substr(0, taken_ - kept);
  }
  return write_at_end(bytes);
}

bool RankLog::note(std::string_view text) {
  const std::uint64_t before = size_;
  const char last = last_;
  if (!take(size_ + text.size())) {
    return false;
  }
  if (write_at_end(text) == text.size()) {
    return true;
  }
  if (ftruncate(file_.get(), static_cast<off_t>(before)) == 0) {
    size_ = taken_ = before;
    last_ = last;
  }
  return false;
}

bool RankLog::has_room_for(std::size_t bytes) {
  return take(size_ + bytes + kNoteBytesMax);
}

void RankLog::trim() {
  if (file_.is_open() && taken_ > size_ && ftruncate(file_.get(), static_cast<off_t>(size_)) == 0) {
    taken_ = size_;
  }
}

}  // namespace muster::agent
