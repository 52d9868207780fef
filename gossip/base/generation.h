#pragma once
// Limits of a generation, the counter of an agent's starts. Each generation in a message is checked
// against both, because a host's highest generation supersedes all that it says under lower ones.

#include "gossip/base/ids.h"

namespace muster {

/// Readers of messages and disks refuse a higher generation, so next() never wraps.
inline constexpr std::uint64_t kGenerationMax = std::uint64_t{1} << 48;
/// No host starts that often between two of its messages: a start a second for a century.
inline constexpr std::uint64_t kGenerationLeapMax = std::uint64_t{1} << 32;

/// Whether a host that was last known in generation `known` (0 = not known) can be in `claimed`.
constexpr bool is_credible(Generation known, Generation claimed) {
  return claimed.value() <= kGenerationMax &&
         (claimed <= known || claimed.value() - known.value() <= kGenerationLeapMax);
}

}  // namespace muster
