#include "tests/repository/prose.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "tests/repository/source_text.h"

namespace muster::repository {
namespace {

constexpr std::size_t kCodeIndent = 4;  ///< Of code in a document, behind an empty line.
constexpr std::size_t kHelpWordsMin = 3;

bool is_gap(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos
             ? ""
             : text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

/// "- ", "* " or "12. ": its length, else 0.
std::size_t item_mark(const std::string& line) {
  if (line.starts_with("- ") || line.starts_with("* ")) {
    return 2;
  }
  const std::size_t digits = line.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string::npos && line.compare(digits, 2, ". ") == 0
             ? digits + 2
             : 0;
}

/// Puts lines together to blocks.
class Blocks {
 public:
  void begin() { is_open_ = false; }

  /// An empty line ends a block; an item of a list begins one.
  void add(const std::string& line, std::size_t index) {
    const std::string text = trimmed(line);
    const std::size_t mark = item_mark(text);
    if (text.empty() || mark != 0) {
      begin();
    }
    append(trimmed(text.substr(mark)), index);
  }

  void add_alone(const std::string& text, std::size_t index, bool may_ask) {
    begin();
    append(trimmed(text), index);
    if (is_open_) {
      blocks_.back().may_ask = may_ask;
    }
    begin();
  }

  std::vector<Prose> take() { return std::move(blocks_); }

 private:
  void append(const std::string& text, std::size_t index) {
    if (text.empty()) {
      return;
    }
    if (!is_open_) {
      blocks_.emplace_back();
      is_open_ = true;
    }
    Prose& block = blocks_.back();
    block.text += (block.text.empty() ? "" : " ") + text;
    block.lines.resize(block.text.size(), index);
  }

  std::vector<Prose> blocks_;
  bool is_open_ = false;
};

/// "//", "///" or "///<".
std::string kind_of(const std::string& comment) {
  const std::size_t slashes = std::min(comment.find_first_not_of('/'), comment.size());
  return comment.substr(0, slashes) + (comment.compare(slashes, 1, "<") == 0 ? "<" : "");
}

/// Cells of a row of a table; a bar in backquotes separates none.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells(1);
  bool is_code = false;
  for (const char c : row.substr(1)) {
    is_code = is_code != (c == '`');
    if (c == '|' && !is_code) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

bool is_rule_of_table(const std::string& line) {
  return line.starts_with("|-") || line.starts_with("| -") || line.starts_with("|:");
}

/// A string literal without its marks, in one line.
std::string text_of_literal(const std::string& literal) {
  if (literal.starts_with("R\"")) {
    const std::size_t open = literal.find('(');
    const std::size_t close = literal.rfind(')');
    return open < close ? literal.substr(open + 1, close - open - 1) : "";
  }
  std::string text;
  for (std::size_t i = 1; i + 1 < literal.size(); ++i) {
    const bool is_escaped = literal[i] == '\\';
    i += is_escaped ? 1 : 0;
    text += is_escaped && literal[i] == 'n' ? ' ' : literal[i];
  }
  return text;
}

/// Reads a source and knows of each literal which call it is an argument of.
class LiteralScan {
 public:
  explicit LiteralScan(const std::string& text) : text_(text) {}

  std::vector<Prose> run() {
    for (std::size_t i = 0; i < text_.size();) {
      const std::size_t end = end_of_quoted(text_, i);
      if (end == i) {
        read(i);
        ++i;
        continue;
      }
      const bool is_literal = text_[i] == '"' || text_[i] == 'R';
      if (is_literal) {
        add(i, end);
      }
      line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(i),
                                                   text_.begin() + static_cast<std::ptrdiff_t>(end),
                                                   '\n'));
      i = end;
    }
    return std::move(literals_);
  }

 private:
  void read(std::size_t i) {
    const char c = text_[i];
    line_ += c == '\n' ? 1U : 0U;
    if (is_gap(c)) {
      return;
    }
    if (is_after_literal_ && c == '+') {
      literals_.back().ends = false;
    }
    is_after_literal_ = false;
    last_ = c;
    if (c == '(' || c == '{' || c == '[') {
      open_.push_back(c == '(' ? callee_before(i) : std::string(1, c));
    } else if ((c == ')' || c == '}' || c == ']') && !open_.empty()) {
      open_.pop_back();
    }
  }

  /// "options.flag" of "options.flag(".
  std::string callee_before(std::size_t paren) const {
    std::size_t begin = paren;
    while (begin > 0 && (is_word(text_[begin - 1]) || text_[begin - 1] == '.' ||
                         text_[begin - 1] == ':' || text_[begin - 1] == '>')) {
      --begin;
    }
    return text_.substr(begin, paren - begin);
  }

  /// std::string("...") is no call.
  std::string callee() const {
    const auto found = std::find_if(open_.rbegin(), open_.rend(), [](const std::string& open) {
      return open != "std::string" && open != "std::string_view" && !open.empty();
    });
    return found == open_.rend() ? "{" : *found;
  }

  void add(std::size_t begin, std::size_t end) {
    if (!is_after_literal_) {
      literals_.emplace_back();
      literals_.back().begins = last_ != '+';
      literals_.back().callee = callee();
    }
    Prose& literal = literals_.back();
    literal.text += text_of_literal(text_.substr(begin, end - begin));
    literal.lines.resize(literal.text.size(), line_);
    is_after_literal_ = true;
  }

  const std::string& text_;
  std::vector<Prose> literals_;
  std::vector<std::string> open_;  ///< One a bracket: a bracket, or whom its arguments are for.
  std::size_t line_ = 0;
  char last_ = ' ';  ///< Of the code, blanks left out.
  bool is_after_literal_ = false;
};

bool is_help(const Prose& literal) {
  const bool is_argument = literal.callee.starts_with("options.") || literal.callee == "setting" ||
                           literal.callee.ends_with(".describe");
  const auto blanks =
      static_cast<std::size_t>(std::count(literal.text.begin(), literal.text.end(), ' '));
  const bool is_sentence = literal.callee == "{" && !literal.text.empty() &&
                           std::isupper(static_cast<unsigned char>(literal.text[0])) != 0 &&
                           blanks + 1 >= kHelpWordsMin;
  return is_sentence || (is_argument && blanks > 0);
}

void blank(std::string& text, std::size_t begin, std::size_t end) {
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin),
            text.begin() + static_cast<std::ptrdiff_t>(end), 'x');
}

/// From one mark to the next. The end of a sentence in quotation marks is one behind them too.
void blank_between(std::string& text, char mark) {
  std::size_t open = text.find(mark);
  while (open != std::string::npos) {
    const std::size_t close = text.find(mark, open + 1);
    if (close == std::string::npos) {
      return;
    }
    const char last = text[close - 1];
    blank(text, open, close + 1);
    if (mark == '"' && (last == '.' || last == '?' || last == '!')) {
      text[close] = last;
    }
    open = text.find(mark, close + 1);
  }
}

/// 'word', but no apostrophe: a blank or a bracket stands before the first mark.
void blank_single_quoted(std::string& text) {
  for (std::size_t open = 0; open + 1 < text.size(); ++open) {
    const bool opens = text[open] == '\'' && !is_gap(text[open + 1]) &&
                       (open == 0 || is_gap(text[open - 1]) || text[open - 1] == '(');
    const std::size_t close = opens ? text.find('\'', open + 1) : std::string::npos;
    if (close != std::string::npos && (close + 1 == text.size() || !is_word(text[close + 1]))) {
      blank(text, open, close + 1);
    }
  }
}

void blank_addresses(std::string& text) {
  for (std::size_t colon = text.find("://"); colon != std::string::npos;
       colon = text.find("://", colon + 1)) {
    std::size_t begin = colon;
    while (begin > 0 && is_word(text[begin - 1])) {
      --begin;
    }
    std::size_t end = std::min(text.find_first_of(" )>", colon), text.size());
    end -= text[end - 1] == '.' ? 1U : 0U;
    blank(text, begin, end);
  }
}

void blank_identifiers(std::string& text) {
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    std::size_t end = begin;
    while (end < text.size() && (is_word(text[end]) || text[end] == ':')) {
      ++end;
    }
    const std::string_view run = std::string_view(text).substr(begin, end - begin);
    if (run.find('_') != std::string_view::npos || run.find("::") != std::string_view::npos) {
      blank(text, begin, end);
    }
    begin = end;
  }
}

}  // namespace

std::vector<Prose> comments_of(const SourceFile& source) {
  Blocks blocks;
  std::string kind;
  std::size_t line = 0;
  std::size_t last_line = 0;
  bool is_first_of_line = true;
  for (std::size_t i = 0; i < source.text.size();) {
    const std::size_t end = end_of_quoted(source.text, i);
    if (end == i) {
      const char c = source.text[i++];
      line += c == '\n' ? 1U : 0U;
      is_first_of_line = c == '\n' || (is_first_of_line && is_gap(c));
      continue;
    }
    const std::string token = source.text.substr(i, end - i);
    if (token.starts_with("//")) {
      const std::string own = kind_of(token);
      if (!is_first_of_line || own != kind || line != last_line + 1) {
        blocks.begin();
      }
      blocks.add(token.substr(own.size()), line);
      kind = own;
      last_line = line;
    } else if (token.starts_with("/*")) {
      blocks.add_alone(token.substr(2, std::max<std::size_t>(token.size(), 4) - 4), line, false);
    }
    is_first_of_line = false;
    line += static_cast<std::size_t>(std::count(token.begin(), token.end(), '\n'));
    i = end;
  }
  return blocks.take();
}

std::vector<Prose> paragraphs_of(const SourceFile& document) {
  Blocks blocks;
  const std::vector<std::string> lines = lines_of(document.text);
  bool is_fenced = false;
  bool is_after_empty = true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = trimmed(lines[i]);
    const bool is_indented = lines[i].starts_with(std::string(kCodeIndent, ' '));
    if (line.starts_with("```")) {
      is_fenced = !is_fenced;
      blocks.begin();
    } else if (is_fenced || (is_after_empty && is_indented)) {
      continue;
    } else if (line.starts_with('#')) {
      const std::string heading = line.substr(std::min(line.find_first_not_of('#'), line.size()));
      blocks.add_alone(heading, i, heading.ends_with('?'));
    } else if (line.starts_with('|')) {
      const bool is_head = i + 1 < lines.size() && is_rule_of_table(trimmed(lines[i + 1]));
      for (const std::string& cell : cells_of(is_rule_of_table(line) ? "|" : line)) {
        blocks.add_alone(cell, i, is_head);
      }
    } else {
      blocks.add(line.starts_with("> ") ? line.substr(2) : line, i);
    }
    is_after_empty = line.empty();
  }
  return blocks.take();
}

std::vector<Prose> help_lines_of(const SourceFile& source) {
  std::vector<Prose> literals = LiteralScan(source.text).run();
  literals.erase(std::remove_if(literals.begin(), literals.end(),
                                [](const Prose& literal) { return !is_help(literal); }),
                 literals.end());
  return literals;
}

std::string readable(const std::string& text) {
  std::string masked = text;
  blank_between(masked, '`');
  blank_between(masked, '"');
  blank_single_quoted(masked);
  blank_addresses(masked);
  blank_identifiers(masked);
  return masked;
}

}  // namespace muster::repository
