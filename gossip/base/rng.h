#pragma once
// Rng is a seeded generator (xoshiro256**, seeded by splitmix64; Blackman and Vigna 2018). The same
// seed gives the same numbers on every machine. Therefore it uses no std::*_distribution, whose
// results differ between libraries.

#include <cstdint>

#include "gossip/base/time.h"

namespace muster {

class Rng {
 public:
  explicit Rng(std::uint64_t seed);
  std::uint64_t next();
  /// Uniform in [0, bound); bound >= 1.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [low, high]; low <= high.
  Duration between(Duration low, Duration high);
  /// True with probability `per_million` / 1,000,000.
  bool chance(std::uint32_t per_million);
  /// An independent stream: the draws of one user never shift those of another.
  Rng fork();

 private:
  std::uint64_t state_[4];
};

/// One round of splitmix64: a 64-bit mix for rings and staggering, not for security.
std::uint64_t mix64(std::uint64_t value);

}  // namespace muster
