#pragma once
// How far a counter of starts can be. Every number of the wire is checked against both, because a
// host's highest generation supersedes all that it says under lower ones.

#include "gossip/base/ids.h"

namespace muster {

/// Nothing above is read from a message or a disk, so next() never wraps.
inline constexpr std::uint64_t kGenerationMax = std::uint64_t{1} << 48;
/// No host starts that often between two words of it: a start a second for a century.
inline constexpr std::uint64_t kGenerationLeapMax = std::uint64_t{1} << 32;

/// Whether a host last known under `known` (0 = not known) can be at `claimed` now.
constexpr bool is_credible(Generation known, Generation claimed) {
  return claimed.value() <= kGenerationMax &&
         (claimed <= known || claimed.value() - known.value() <= kGenerationLeapMax);
}

}  // namespace muster
