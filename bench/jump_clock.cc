// A library to preload into an agent: its wall clock is off by the seconds that a file of eight
// bytes holds at each moment, in this machine's byte order. MUSTER_JUMP_CLOCK names the file. Other
// clocks and all timers stay true; libfaketime also jumps those of supervisors and makes them spin.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

using ClockGettime = int (*)(clockid_t, timespec*);

const volatile std::int64_t* map_offset() {
  const char* path = std::getenv("MUSTER_JUMP_CLOCK");
  const int fd = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return nullptr;
  }
  void* place = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return place == MAP_FAILED ? nullptr : static_cast<const volatile std::int64_t*>(place);
}

std::int64_t offset_s() {
  static const volatile std::int64_t* const offset = map_offset();
  return offset == nullptr ? 0 : *offset;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  static const auto real = reinterpret_cast<ClockGettime>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += offset_s();
  }
  return result;
}

extern "C" int gettimeofday(timeval* time, void*) {
  timespec now{};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

extern "C" time_t time(time_t* place) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (place != nullptr) {
    *place = now.tv_sec;
  }
  return now.tv_sec;
}
