#include "cli/table.h"

#include <algorithm>
#include <numeric>

#include "gossip/base/check.h"

namespace muster::cli {
namespace {

constexpr std::size_t kGapColumns = 2;

bool continues_a_sequence(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::size_t width_of(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_a_sequence));
}

std::string pad(const std::string& cell, std::size_t width, bool is_number) {
  const std::string blanks(width - std::min(width, width_of(cell)), ' ');
  return is_number ? blanks + cell : cell + blanks;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string safe(text);
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const auto byte = static_cast<unsigned char>(safe[i]);
    // C1 controls (U+0080 to U+009F) are 0xc2 0x80..0x9f in UTF-8.
    const bool is_c1 =
        byte == 0xc2 && i + 1 < safe.size() && static_cast<unsigned char>(safe[i + 1]) < 0xa0;
    if (byte < 0x20 || byte == 0x7f) {
      safe[i] = '?';
    } else if (is_c1) {
      safe.replace(i, 2, "?");
    }
  }
  return safe;
}

std::string printable_lines(std::string_view text) {
  std::string safe;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    safe += printable(text.substr(start, end - start)) + "\n";
    start = end + 1;
  }
  return safe;
}

std::string truncate(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) {
    return std::string(text);
  }
  std::size_t end = 0;
  std::size_t shown = 0;
  while (end < text.size()) {
    shown += continues_a_sequence(text[end]) ? 0 : 1;
    if (shown >= columns) {
      break;
    }
    ++end;
  }
  return std::string(text.substr(0, end)) + "~";
}

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
      width = std::max(width, width_of(row[i]));
    }
    widths.push_back(width);
  }
  const std::size_t gaps = kGapColumns * (columns_.size() - 1);
  while (std::accumulate(widths.begin(), widths.end(), gaps) > kTableColumns) {
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

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) {
      text += separator;
    }
    text += part;
  }
  return text;
}

}  // namespace muster::cli
