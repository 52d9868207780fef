#include "cli/verbs/manual_text.h"

#include <algorithm>

namespace muster::cli {
namespace {

constexpr std::size_t kSubheadingColumn = 3;
constexpr std::size_t kParagraphColumn = 7;
constexpr std::size_t kEntryColumn = 14;

/// Without escapes: "\fB", "\fR", "\-", "\e", "\&".
std::string plain(std::string_view text) {
  std::string letters;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      letters += text[i];
      continue;
    }
    const char what = text[++i];
    letters += what == '-' ? "-" : what == 'e' ? "\\" : "";
    i += what == 'f' ? 1 : 0;
  }
  return letters;
}

std::string bold(const std::string& text, const Screen& screen) {
  return screen.has_colour ? "\x1b[1m" + text + "\x1b[0m" : text;
}

std::string paragraph(const std::string& text, std::size_t column, const Screen& screen) {
  const std::size_t columns = screen.columns == 0 ? kScreenColumns : screen.columns;
  const std::string blanks(column, ' ');
  std::string lines = blanks;
  for (const char letter : in_lines(text, columns - std::min(columns / 2, column), 0)) {
    lines += letter;
    lines += letter == '\n' ? blanks : "";
  }
  return lines + "\n";
}

}  // namespace

std::string manual_text(std::string_view troff, const Screen& screen) {
  std::string text;
  bool is_tag = false;    // The next line names an entry.
  bool is_entry = false;  // The next ones say what it is.
  bool is_example = false;
  for (std::size_t start = 0; start < troff.size();) {
    const std::size_t end = std::min(troff.find('\n', start), troff.size());
    const std::string_view line = troff.substr(start, end - start);
    start = end + 1;
    if (line.starts_with(".SH ")) {
      text += (text.empty() ? "" : "\n") + bold(plain(line.substr(4)), screen) + "\n";
      is_entry = false;
    } else if (line.starts_with(".SS ")) {
      text += std::string(kSubheadingColumn, ' ') + bold(plain(line.substr(4)), screen) + "\n";
      is_entry = false;
    } else if (line == ".TP") {
      is_tag = true;
    } else if (line == ".EX" || line == ".EE") {
      is_example = line == ".EX";
    } else if (line.starts_with(".")) {
      continue;  // .TH: the screen has a title of its own.
    } else if (is_tag) {
      text += std::string(kParagraphColumn, ' ') + bold(plain(line), screen) + "\n";
      is_tag = false;
      is_entry = true;
    } else if (is_example) {
      text += std::string(kParagraphColumn, ' ') + plain(line) + "\n";
    } else {
      text += paragraph(plain(line), is_entry ? kEntryColumn : kParagraphColumn, screen);
    }
  }
  return text;
}

}  // namespace muster::cli
