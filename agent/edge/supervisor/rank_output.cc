#include "agent/edge/supervisor/rank_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

constexpr std::size_t kCopyBytes = 64 * 1024;
/// More than a pipe holds, so that one copy() after the end of a rank has its last word.
constexpr int kCopiesMax = 32;

}  // namespace

Status RankOutput::open(const std::string& name, std::uint64_t bytes_max) {
  const std::string log = name + ".log";
  Fd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat info {};
  bool is_good = file.is_open() && fstat(file.get(), &info) == 0;
  for (const Stream stream : {Stream::kOut, Stream::kErr}) {
    int ends[2] = {-1, -1};
    is_good = is_good && pipe2(ends, O_CLOEXEC) == 0;
    Pipe& made = pipes_[stream == Stream::kOut ? 0 : 1];
    made.stream = stream;
    made.read_end = Fd(ends[0]);
    made.write_end = Fd(ends[1]);
    is_good = is_good && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
  }
  if (!is_good) {
    const Error error{ErrorCode::kIo, log + ": " + errno_text(errno)};
    pipes_ = {};
    return error;
  }
  log_ = std::move(file);
  size_ = static_cast<std::uint64_t>(info.st_size);
  left_ = bytes_max - std::min(bytes_max, size_);
  marks_.open(name + ".marks");
  return ok();
}

void RankOutput::close_write_ends() {
  for (Pipe& each : pipes_) {
    each.write_end.reset();
  }
}

std::array<int, 2> RankOutput::read_ends() const {
  return {pipes_[0].read_end.get(), pipes_[1].read_end.get()};
}

void RankOutput::copy() {
  for (Pipe& each : pipes_) {
    copy(each);
  }
}

void RankOutput::copy(Pipe& from) {
  char bytes[kCopyBytes];
  for (int i = 0; i < kCopiesMax && from.read_end.is_open(); ++i) {
    const ssize_t count = read(from.read_end.get(), bytes, sizeof bytes);
    if (count > 0) {
      keep(from.stream, bytes, static_cast<std::size_t>(count));
    } else if (count == 0) {
      from.read_end.reset();
    } else if (errno != EINTR) {
      return;
    }
  }
}

void RankOutput::keep(Stream stream, const char* bytes, std::size_t size) {
  const std::size_t kept = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
  append(stream, bytes, kept);
  left_ -= kept;
  if (kept < size && !is_cap_told_) {
    static const std::string note = "\nmuster: the output is too long; the rest of it is dropped\n";
    is_cap_told_ = true;
    append(Stream::kMuster, note.data(), note.size());
  }
}

/// What a full disk does not take is gone; the rank is not made to wait for space.
void RankOutput::append(Stream stream, const char* bytes, std::size_t size) {
  if (size > 0) {
    marks_.note(size_, stream, static_cast<std::uint64_t>(unix_now_ms()));
  }
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
    size_ += static_cast<std::uint64_t>(count);
  }
}

}  // namespace muster::agent
