#include "agent/edge/host/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace muster::agent {
namespace {

/// The kernel refuses a record that does not fit, again and again. This is twice its greatest one.
constexpr std::size_t kReadBytes = 2 * kKernelRecordBytesMax;

}  // namespace

Result<std::unique_ptr<KernelLog>> KernelLog::open(const std::string& path, bool is_from_now) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    return Error{ErrorCode::kIo, "cannot read " + path + ": " + std::strerror(errno) +
                                     "; give the agent CAP_SYSLOG, or Xids come by the events of "
                                     "the NVIDIA library alone"};
  }
  auto log = std::make_unique<KernelLog>(fd);
  if (is_from_now && lseek(fd, 0, SEEK_END) < 0 && errno != ESPIPE) {
    return Error{ErrorCode::kIo, "cannot find the end of " + path + ": " + std::strerror(errno) +
                                     "; compare it with /dev/kmsg"};
  }
  return log;
}

KernelLog::KernelLog(int fd, Reader reader)
    : fd_(fd), reader_(reader == nullptr ? &::read : reader) {}

KernelLog::~KernelLog() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

KernelLog::Turn KernelLog::read_some() {
  Turn turn;
  bool has_lost = false;
  char bytes[kReadBytes];
  for (std::size_t reads = 0; reads < kKernelReadsATurn; ++reads) {
    const ssize_t got = reader_(fd_, bytes, sizeof bytes);
    if (got > 0) {
      take_lines({bytes, static_cast<std::size_t>(got)}, turn);
    } else if (got < 0 && errno == EPIPE) {
      has_lost = true;
      turn.has_lost = turn.has_lost || !std::exchange(is_losing_, true);
    } else if (got == 0 || errno == EAGAIN) {
      is_losing_ = has_lost;
      return turn;
    } else if (errno != EINTR) {
      turn.error = std::strerror(errno);
      return turn;
    }
  }
  turn.has_more = true;
  return turn;
}

void KernelLog::take_lines(std::string_view bytes, Turn& turn) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const bool fits = line_.size() + end <= kKernelRecordBytesMax;
    is_line_too_long_ = is_line_too_long_ || !fits;
    if (!is_line_too_long_) {
      line_ += bytes.substr(0, end);
    }
    const bool is_whole = end < bytes.size();
    bytes.remove_prefix(is_whole ? end + 1 : end);
    if (!is_whole) {
      return;
    }
    // The lines behind the first of a record are its dictionary; they begin with a blank.
    const bool is_head = !is_line_too_long_ && !line_.starts_with(' ');
    std::optional<KernelRecord> record =
        is_head ? parse_kernel_record(line_) : std::optional<KernelRecord>{};
    if (record.has_value() && !std::holds_alternative<std::monostate>(record->found)) {
      turn.found.push_back(std::move(*record));
    }
    line_.clear();
    is_line_too_long_ = false;
  }
}

}  // namespace muster::agent
