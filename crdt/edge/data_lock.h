#pragma once
// The right to use a data directory: a lock on DATA/lock, held as long as the object lives and
// dropped by the kernel when the process dies, however it dies. Not inherited by programs it
// starts.

#include <sys/types.h>

#include <string>

#include "gossip/base/result.h"

namespace muster::crdt {

/// Everything under a data directory is its owner's alone.
inline constexpr mode_t kDirectoryMode = 0700;
inline constexpr mode_t kFileMode = 0600;

class DataLock {
 public:
  /// Makes the directory (mode 0700) when there is none. kConflict names the pid of the holder.
  static Result<DataLock> acquire(const std::string& directory);
  DataLock(DataLock&& other) noexcept;
  DataLock& operator=(DataLock&& other) noexcept;
  DataLock(const DataLock&) = delete;
  DataLock& operator=(const DataLock&) = delete;
  ~DataLock();

 private:
  explicit DataLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace muster::crdt
