#include "scheduler/placement/host_bits.h"

#include "gossip/base/check.h"

namespace muster::scheduler {

void HostBits::set(std::uint32_t position) {
  const std::uint32_t row = position / kRowBits;
  if (row >= rows_.size()) {
    rows_.resize(row + 1);
    summary_.resize(row / 64 + 1);
  }
  const std::uint32_t bit = std::uint32_t{1} << position % kRowBits;
  CHECK((rows_[row] & bit) == 0);
  rows_[row] |= bit;
  summary_[row / 64] |= std::uint64_t{1} << row % 64;
}

void HostBits::clear(std::uint32_t position) {
  const std::uint32_t row = position / kRowBits;
  const std::uint32_t bit = std::uint32_t{1} << position % kRowBits;
  CHECK(row < rows_.size() && (rows_[row] & bit) != 0);
  rows_[row] &= ~bit;
  if (rows_[row] == 0) {
    summary_[row / 64] &= ~(std::uint64_t{1} << row % 64);
  }
}

std::uint32_t HostBits::first() const {
  for (std::size_t word = 0; word < summary_.size(); ++word) {
    if (summary_[word] != 0) {
      const auto row = static_cast<std::uint32_t>(word * 64 + std::countr_zero(summary_[word]));
      return row * kRowBits + static_cast<std::uint32_t>(std::countr_zero(rows_[row]));
    }
  }
  return kNoPosition;
}

}  // namespace muster::scheduler
