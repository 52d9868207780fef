#include "agent/edge/ranks/reserved_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace muster::agent {
namespace {

std::string beside(const std::string& name) {
  return name + ".new";
}

}  // namespace

Status ReservedFile::reserve(const std::string& name, std::size_t bytes_max) {
  name_ = name;
  file_ = Fd(open(beside(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const int failure =
      !file_.is_open() ? errno : posix_fallocate(file_.get(), 0, static_cast<off_t>(bytes_max));
  if (failure != 0) {
    file_.reset();
    unlink(beside(name).c_str());
    return Error{ErrorCode::kIo, name + ": " + errno_text(failure)};
  }
  return ok();
}

Status ReservedFile::write(const std::string& bytes) {
  const Fd folder(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto size = static_cast<ssize_t>(bytes.size());
  const bool is_written = folder.is_open() && file_.is_open() &&
                          pwrite(file_.get(), bytes.data(), bytes.size(), 0) == size &&
                          ftruncate(file_.get(), size) == 0 && fsync(file_.get()) == 0 &&
                          rename(beside(name_).c_str(), name_.c_str()) == 0 &&
                          fsync(folder.get()) == 0;
  const int failure = errno;  // Closing may set another.
  file_.reset();
  if (!is_written) {
    return Error{ErrorCode::kIo, name_ + ": " + errno_text(failure)};
  }
  return ok();
}

}  // namespace muster::agent
