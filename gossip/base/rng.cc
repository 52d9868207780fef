#include "gossip/base/rng.h"

#include "gossip/base/check.h"

namespace muster {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

/// 128 bits wide, where the compiler has it as an extension.
__extension__ using Wide = unsigned __int128;

std::uint64_t rotate_left(std::uint64_t value, int by) {
  return value << by | value >> (64 - by);
}

}  // namespace

std::uint64_t mix64(std::uint64_t value) {
  value += kGolden;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
  value = (value ^ value >> 27) * 0x94d049bb133111ebU;
  return value ^ value >> 31;
}

Rng::Rng(std::uint64_t seed) : state_{} {
  for (auto& word : state_) {
    word = mix64(seed);
    seed += kGolden;
  }
}

std::uint64_t Rng::next() {
  const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  CHECK(bound >= 1);
  // Lemire's multiply-shift without the rejection step: the bias is below 2^-32 for our bounds.
  return static_cast<std::uint64_t>(static_cast<Wide>(next()) * bound >> 64);
}

Duration Rng::between(Duration low, Duration high) {
  CHECK(low <= high);
  return low + Duration(static_cast<std::int64_t>(
                   below(static_cast<std::uint64_t>((high - low).count()) + 1)));
}

bool Rng::chance(std::uint32_t per_million) {
  return below(1'000'000) < per_million;
}

Rng Rng::fork() {
  return Rng(next());
}

}  // namespace muster
