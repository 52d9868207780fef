// A slow disk for one process: LD_PRELOADed into an agent, this library delays each fsync,
// fdatasync and msync by the milliseconds that the file SLOW_SYNC_FILE holds (no file, empty or 0:
// no delay), for files below the directory SLOW_SYNC_UNDER. It reads the file all the time, so a
// disk that hangs can be released. It syncs all the same: slow, never lying. Not for programs built
// with ASan, which allows no library before itself.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr long kDelayMsMax = 60'000;
constexpr long kStepMs = 20;

long delay_ms() {
  const char* path = std::getenv("SLOW_SYNC_FILE");
  const int fd = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return 0;
  }
  char text[16] = {};
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  const long ms = size > 0 ? std::atol(text) : 0;
  return ms < 0 ? 0 : ms > kDelayMsMax ? kDelayMsMax : ms;
}

bool is_below(int fd) {
  const char* directory = std::getenv("SLOW_SYNC_UNDER");
  char link[64];
  char path[4096] = {};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return directory != nullptr && readlink(link, path, sizeof path - 1) > 0 &&
         std::strncmp(path, directory, std::strlen(directory)) == 0;
}

void wait() {
  for (long waited = 0; waited < delay_ms(); waited += kStepMs) {
    const timespec step{0, kStepMs * 1'000'000};
    nanosleep(&step, nullptr);
  }
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int fsync(int fd) {
  static const auto next = real<int (*)(int)>("fsync");
  if (is_below(fd)) {
    wait();
  }
  return next(fd);
}

extern "C" int fdatasync(int fd) {
  static const auto next = real<int (*)(int)>("fdatasync");
  if (is_below(fd)) {
    wait();
  }
  return next(fd);
}

// A mapping has no path here; agents map only their environments.
extern "C" int msync(void* address, size_t size, int flags) {
  static const auto next = real<int (*)(void*, size_t, int)>("msync");
  if ((flags & MS_SYNC) != 0) {
    wait();
  }
  return next(address, size, flags);
}
