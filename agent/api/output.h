#pragma once
// A rank's output, piece by piece.

#include <cstddef>
#include <cstdint>
#include <string>

#include "gossip/base/ids.h"

namespace muster::agent {

struct OutputQuery {
  Token token;
  std::uint64_t rank = 0;
  std::uint64_t offset = 0;
};

struct OutputChunk {
  std::string bytes;       ///< At most kOutputBytesMax.
  std::uint64_t size = 0;  ///< Of the whole output at the moment.
  bool ended = false;      ///< The rank is gone: no more will come behind `size`.
};

inline constexpr std::size_t kOutputBytesMax = 256 * 1024;

}  // namespace muster::agent
