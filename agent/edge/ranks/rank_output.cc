#include "agent/edge/ranks/rank_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

constexpr std::size_t kCopyBytes = 64 * 1024;
/// More than a pipe holds, so that one copy() after the end of a rank has its last word.
constexpr int kCopiesMax = 32;
/// Free space that ends a gap, and the pause between two looks for it. Lower: a disk that stays
/// nearly full cuts the log into more pieces, each with two lines of ours.
constexpr std::size_t kRoomToGoOn = 64 * 1024;
constexpr Duration kTryPause = std::chrono::milliseconds(100);

}  // namespace

Status RankOutput::open(const std::string& name, std::uint64_t bytes_max) {
  if (const Status opened = log_.open(name + ".log"); !opened) {
    return opened;
  }
  bool is_good = true;
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
    const Error error{ErrorCode::kIo, name + ": pipe: " + errno_text(errno)};
    pipes_ = {};
    return error;
  }
  left_ = bytes_max - std::min(bytes_max, log_.size());
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
      keep(from.stream, {bytes, static_cast<std::size_t>(count)});
    } else if (count == 0) {
      from.read_end.reset();
    } else if (errno != EINTR) {
      return;
    }
  }
}

void RankOutput::keep(Stream stream, std::string_view bytes) {
  const std::size_t kept = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_));
  append(stream, bytes.substr(0, kept));
  surplus_ += bytes.size() - kept;
  if (kept < bytes.size() && !is_cap_told_) {
    is_cap_told_ = note("muster: the output is too long; the rest of it is dropped\n");
  }
}

/// Drops the bytes that a full disk does not take: the rank is not made to wait for space.
void RankOutput::append(Stream stream, std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  if (gap_ > 0 && !goes_on()) {
    lose(bytes.size());
    return;
  }
  marks_.note(log_.size(), stream, static_cast<std::uint64_t>(unix_now_ms()));
  const std::size_t taken = log_.append(bytes);
  left_ -= taken;
  if (taken < bytes.size()) {
    note("muster: output is missing from here on: " + errno_text(log_.error()) + "\n");
    lose(bytes.size() - taken);
    try_at_ = boot_now() + kTryPause;
  }
}

void RankOutput::lose(std::size_t bytes) {
  lost_ += bytes;
  gap_ += bytes;
}

bool RankOutput::goes_on() {
  const Instant now = boot_now();
  if (now < try_at_) {
    return false;
  }
  try_at_ = now + kTryPause;
  if (!log_.has_room_for(kRoomToGoOn)) {
    return false;
  }
  note("muster: " + std::to_string(gap_) + " bytes are missing here\n");
  gap_ = 0;
  return true;
}

bool RankOutput::note(const std::string& text) {
  marks_.note(log_.size(), Stream::kMuster, static_cast<std::uint64_t>(unix_now_ms()));
  return log_.note((log_.ends_a_line() ? "" : "\n") + text);
}

void RankOutput::finish() {
  copy();
  if (gap_ > 0) {
    note("muster: " + std::to_string(gap_) + " bytes are missing here\n");
    gap_ = 0;
  }
  log_.trim();
}

}  // namespace muster::agent
