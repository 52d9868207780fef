#include "cli/kit/table.h"

#include <algorithm>
#include <numeric>

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
    const bool gives = !columns_[i].is_number && widths[i] > floor;
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

std::vector<std::size_t> Table::widths(std::size_t columns_max) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = columns_[i].title.size();
    for (const auto& row : rows_) {
      width = std::max(width, columns_of(row[i]));
    }
    widths.push_back(width);
  }
  const std::size_t gaps = kGapColumns * (columns_.size() - 1);
  const auto is_too_wide = [&] {
    return columns_max != 0 && std::accumulate(widths.begin(), widths.end(), gaps) > columns_max;
  };
  for (const bool below_minimum : {false, true}) {
    while (is_too_wide() && narrow(widths, below_minimum)) {
    }
  }
  return widths;
}

std::string Table::text(const Screen& screen) const {
  const std::vector<std::size_t> width = widths(screen.columns);
  std::string text;
  const auto add_line = [&](const auto& cell_of, bool is_title) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
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
