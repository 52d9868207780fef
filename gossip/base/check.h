#pragma once
// CHECK aborts the process when an invariant of ours is broken, in every build. Bytes from the
// network, a disk, a user or another process are validated, never CHECKed.

namespace muster {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace muster

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) [[unlikely]] {                          \
      ::muster::check_failed(#condition, __FILE__, __LINE__); \
    }                                                         \
  } while (false)
