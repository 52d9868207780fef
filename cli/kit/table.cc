#include "cli/kit/table.h"

#include <algorithm>
#include <numeric>

#include "cli/kit/text.h"
#include "gossip/base/check.h"

namespace muster::cli {
namespace {

constexpr std::size_t kGapColumns = 2;

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

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = columns_[i].title.size();
    for (const auto& row : rows_) {
      width = std::max(width, columns_of(row[i]));
    }
    widths.push_back(width);
  }
  const std::size_t gaps = kGapColumns * (columns_.size() - 1);
  while (std::accumulate(widths.begin(), widths.end(), gaps) > kScreenColumns) {
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t floor = std::max(columns_[i].columns_min, columns_[i].title.size());
      const bool gives = !columns_[i].is_number && widths[i] > floor;
      if (gives && (widest == columns_.size() || widths[i] > widths[widest])) {
        widest = i;
      }
    }
    if (widest == columns_.size()) {
      break;
    }
    --widths[widest];
  }
  return widths;
}

std::string Table::text() const {
  const std::vector<std::size_t> width = widths();
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      line += pad(truncate(cell_of(i), width[i]), width[i], columns_[i].is_number);
      line.append(kGapColumns, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) {
    add_line([&](std::size_t i) { return row[i]; });
  }
  return text;
}

}  // namespace muster::cli
