#pragma once
// Aligned tables for people, as wide as the screen. Programs read --json instead.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/kit/text.h"

namespace muster::cli {

class Table {
 public:
  struct Column {
    std::string title;
    bool is_number = false;       ///< Right-aligned, never cut.
    std::size_t columns_min = 8;  ///< Is not cut below this while another column gives way.
    bool is_state = false;        ///< Coloured where there are colours.
    /// Above 0: rather than cut cells below their minima, the column with the highest one is left
    /// out.
    int left_out = 0;
  };
  explicit Table(std::vector<Column> columns);
  /// As many cells as columns.
  void add(std::vector<std::string> cells);
  /// Title line and rows, two blanks between columns, no trailing blanks. While a line would be too
  /// wide for the screen, the widest column that may be cut gives way; then columns are left out.
  std::string text(const Screen& screen = {}) const;

 private:
  /// By column; 0 = it is left out.
  std::vector<std::size_t> widths(std::size_t columns_max) const;
  bool narrow(std::vector<std::size_t>& widths, bool below_minimum) const;
  bool leave_one_out(std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace muster::cli
