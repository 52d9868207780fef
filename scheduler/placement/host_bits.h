#pragma once
// A set of hosts as bits, laid out by rack: a row of 32 bits belongs to one rack (rack_rows.h), and
// a summary tells which rows have any. Finding the first host costs a word for each 2,048 hosts.
// Owned by SpaceClasses; pure.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::scheduler {

inline constexpr std::uint32_t kRowBits = 32;
inline constexpr std::uint32_t kNoPosition = ~std::uint32_t{0};

class HostBits {
 public:
  /// Precondition of set(): the host is not in the set; of clear(): it is.
  void set(std::uint32_t position);
  void clear(std::uint32_t position);
  /// kNoPosition = the set is empty.
  std::uint32_t first() const;
  /// The hosts of one row.
  std::uint32_t row(std::uint32_t number) const {
    return number < rows_.size() ? rows_[number] : 0;
  }
  /// Calls `visit(row number, bits)` for each row that has any, in order.
  template <class Visit>
  void for_each_row(Visit visit) const {
    for (std::size_t word = 0; word < summary_.size(); ++word) {
      for (std::uint64_t left = summary_[word]; left != 0; left &= left - 1) {
        const auto number = static_cast<std::uint32_t>(word * 64 + std::countr_zero(left));
        visit(number, rows_[number]);
      }
    }
  }
  std::size_t bytes() const { return rows_.capacity() * 4 + summary_.capacity() * 8; }

 private:
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint64_t> summary_;
};

}  // namespace muster::scheduler
