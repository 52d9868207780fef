#pragma once
// Aligned tables for people, never wider than 100 columns. Whoever parses uses --json.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

inline constexpr std::size_t kTableColumns = 100;

/// What others wrote (job names, causes, host names), made safe for a terminal: control characters
/// become '?', so that no name can move the cursor or forge a line.
std::string printable(std::string_view text);
/// The same for a text of several lines of ours.
std::string printable_lines(std::string_view text);

/// At most `columns` characters; a cut shows as a trailing '~' and never splits a UTF-8 sequence.
std::string truncate(std::string_view text, std::size_t columns);

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

/// "a, b, c".
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace muster::cli
