#pragma once
// KernelLog reads /dev/kmsg without ever waiting, and gives out the records that tell of a GPU or
// an NVSwitch. Each read() of the kernel's device is one record; a pipe or a file with one record a
// line is read alike, so that tests need no device. Owned by the agent's loop.

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/kernel_message.h"
#include "gossip/base/result.h"

namespace muster::agent {

inline constexpr const char* kKernelLogPath = "/dev/kmsg";
/// Reads in one turn of the loop: a flood of kernel messages delays the loop by well under a
/// millisecond, and the next turn goes on.
inline constexpr std::size_t kKernelReadsATurn = 64;

class KernelLog {
 public:
  /// From the oldest record that the kernel still has, or from now on. A host that never stored how
  /// far it read begins with now: an old Xid may have been mended since. kIo: it cannot be opened.
  static Result<std::unique_ptr<KernelLog>> open(const std::string& path, bool is_from_now);
  /// As read(2). A test has another one, for losses cannot be ordered from a kernel.
  using Reader = ssize_t (*)(int fd, void* to, std::size_t size);
  /// Takes a descriptor that does not block.
  explicit KernelLog(int fd, Reader reader = nullptr);
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;
  ~KernelLog();

  struct Turn {
    std::vector<KernelRecord> found;  ///< In their order; at most one for each line read.
    bool has_lost = false;  ///< Records were overwritten before they were read. Said once a
                            ///< loss, not in each turn of a flood.
    bool has_more = false;  ///< The limit of the turn was met.
    std::string error;      ///< "" unless it cannot be read any more.
  };
  Turn read_some();

  /// To be polled for input.
  int fd() const { return fd_; }

 private:
  void take_lines(std::string_view bytes, Turn& turn);

  int fd_;
  Reader reader_;
  std::string line_;               ///< Without its end; at most kKernelRecordBytesMax.
  bool is_line_too_long_ = false;  ///< The rest of this line is skipped.
  bool is_losing_ = false;
};

}  // namespace muster::agent
