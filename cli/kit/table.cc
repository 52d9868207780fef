#include "cli/kit/table.h"

#include <algorithm>

#include "cli/kit/text.h"
#include "gossip/base/check.h"

namespace muster::cli {
namespace {

constexpr std::size_t kGapColumns = 2;
/// Of a screen that is too narrow for the minima: no cell is cut below it.
constexpr std::size_t kCutColumnsMin = 4;

std::string pad(const std::string& cell, std::size_t width, bool is_number) {
  const std::string blanks(width - std::min(width, columns_of(cell)), ' ');
  return is_number ? blanks + cell : cell + blanks;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) {
    cell = printable(cell);
  }
  rows_.push_back(std::move(cells));
}

/// Of the widest that may be cut one column less. False: none may.
bool Table::narrow(std::vector<std::size_t>& widths, bool below_minimum) const {
  std::size_t widest = columns_.size();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t title = columns_[i].title.size();
    const std::size_t floor =
        below_minimum ? std::max(kCutColumnsMin, title) : std::max(columns_[i].columns_min, title);
    const bool gives = !columns_[i].is_number && widths[i] > floor;  // Not one that is left out.
    if (gives && (widest == columns_.size() || widths[i] > widths[widest])) {
      widest = i;
    }
  }
  if (widest == columns_.size()) {
    return false;
  }
  --widths[widest];
  return true;
}

/// False: all that are left stay.
bool Table::leave_one_out(std::vector<std::size_t>& widths) const {
  std::size_t first = columns_.size();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool goes = widths[i] > 0 && columns_[i].left_out > 0;
    if (goes && (first == columns_.size() || columns_[i].left_out > columns_[first].left_out)) {
      first = i;
    }
  }
  if (first == columns_.size()) {
    return false;
  }
  widths[first] = 0;
  return true;
}

std::vector<std::size_t> Table::widths(std::size_t columns_max) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = columns_[i].title.size();
    for (const auto& row : rows_) {
      width = std::max(width, columns_of(row[i]));
    }
    widths.push_back(width);
  }
  const auto total = [&widths] {
    std::size_t sum = 0;
    for (const std::size_t width : widths) {
      sum += width == 0 ? 0 : width + kGapColumns;
    }
    return sum - kGapColumns;
  };
  const auto is_too_wide = [&] { return columns_max != 0 && total() > columns_max; };
  const std::vector<std::size_t> whole = widths;
  while (is_too_wide() && narrow(widths, false)) {
  }
  while (is_too_wide() && leave_one_out(widths)) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = widths[i] == 0 ? 0 : whole[i];  // There may be room again.
    }
    while (is_too_wide() && narrow(widths, false)) {
    }
  }
  while (is_too_wide() && narrow(widths, true)) {
  }
  return widths;
}

std::string Table::text(const Screen& screen) const {
  const std::vector<std::size_t> width = widths(screen.columns);
  std::string text;
  const auto add_line = [&](const auto& cell_of, bool is_title) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (width[i] == 0) {
        continue;
      }
      const std::string cell = truncate(cell_of(i), width[i]);
      const std::string padded = pad(cell, width[i], columns_[i].is_number);
      const bool is_coloured = columns_[i].is_state && !is_title && screen.has_colour;
      line += is_coloured ? coloured_state(cell, screen) + padded.substr(cell.size()) : padded;
      line.append(kGapColumns, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t i) { return columns_[i].title; }, true);
  for (const auto& row : rows_) {
    add_line([&](std::size_t i) { return row[i]; }, false);
  }
  return text;
}

}  // namespace muster::cli
