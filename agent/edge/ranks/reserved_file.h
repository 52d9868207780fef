#pragma once
// A file whose bytes are taken from the disk before they are known, so that a disk that fills up
// meanwhile cannot keep them from being written. Complete or absent after a crash.

#include <cstddef>
#include <string>

#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/base/result.h"

namespace muster::agent {

class ReservedFile {
 public:
  /// Takes `bytes_max` bytes for `name` in the working directory; they lie in `name`.new until
  /// write(). No sync: what is reserved is worth as much as this process.
  Status reserve(const std::string& name, std::size_t bytes_max);
  /// Once, after reserve(): from here on `name` has these bytes, durably. More than bytes_max are
  /// written as far as the disk has room for them.
  Status write(const std::string& bytes);

 private:
  std::string name_;
  Fd file_;
};

}  // namespace muster::agent
