#pragma once
// Aligned tables for people, never wider than 100 columns. Whoever parses uses --json.

#include <cstddef>
#include <string>
#include <vector>

namespace muster::cli {

class Table {
 public:
  struct Column {
    std::string title;
    bool is_number = false;       ///< Right-aligned, never cut.
    std::size_t columns_min = 8;  ///< Is not cut below this.
  };
  explicit Table(std::vector<Column> columns);
  /// As many cells as columns.
  void add(std::vector<std::string> cells);
  /// Title line and rows, two blanks between columns, no trailing blanks. While a line would be too
  /// wide, the widest column that may be cut gives way.
  std::string text() const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace muster::cli
