#pragma once
// DataLock is the right to use a data directory: a lock on DATA/lock. It lasts as long as the
// object; the kernel drops it when the process dies, however it dies. Programs that the process
// starts do not inherit it.

#include <sys/types.h>

#include <string>

#include "gossip/base/result.h"

namespace muster::crdt {

/// Only its owner may read or write a data directory and the files in it.
inline constexpr mode_t kDirectoryMode = 0700;
inline constexpr mode_t kFileMode = 0600;

class DataLock {
 public:
  /// Makes the directory (mode 0700) if it does not exist. kConflict names the pid of the holder.
  /// kIo: the directory or the lock file cannot be made or written.
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
