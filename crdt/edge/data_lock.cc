#include "crdt/edge/data_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace muster::crdt {
namespace {

constexpr std::size_t kPidBytesMax = 16;

std::string holder_of(int fd) {
  char text[kPidBytesMax] = {};
  const ssize_t size = pread(fd, text, sizeof text - 1, 0);
  std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  pid.erase(pid.find_last_not_of('\n') + 1);
  return pid.empty() ? "unknown" : pid;
}

}  // namespace

Result<DataLock> DataLock::acquire(const std::string& directory) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(directory, error);
  if (error || (made && chmod(directory.c_str(), kDirectoryMode) != 0)) {
    return Error{ErrorCode::kIo, "cannot make " + directory +
                                     (error ? ": " + error.message() : std::string()) +
                                     ": choose another one with --data-dir"};
  }
  const std::string path = directory + "/lock";
  DataLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (lock.fd_ < 0) {
    return Error{ErrorCode::kIo, "cannot open " + path + ": " + std::strerror(errno) +
                                     ": choose another directory with --data-dir"};
  }
  if (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::kConflict, directory + " is in use by the agent with pid " +
                                           holder_of(lock.fd_) +
                                           ": stop it, or choose another --data-dir"};
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(lock.fd_, 0) != 0 ||
      pwrite(lock.fd_, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return Error{ErrorCode::kIo, "cannot write " + path + ": " + std::strerror(errno)};
  }
  return lock;
}

DataLock::DataLock(DataLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DataLock& DataLock::operator=(DataLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

DataLock::~DataLock() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

}  // namespace muster::crdt
