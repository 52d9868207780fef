#include "tests/repository/source_rules.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "tests/repository/rooms.h"
#include "tests/repository/source_text.h"

namespace muster::repository {
namespace {

/// Characters a terminal shows, not bytes.
int columns_of(const std::string& line) {
  return static_cast<int>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// Reads code brace by brace and finds the outermost function bodies.
class FunctionScan {
 public:
  explicit FunctionScan(const SourceFile& file) : file_(file) {}

  Violations run() {
    for (const char c : code_of(file_.text)) {
      read(c);
    }
    return std::move(found_);
  }

 private:
  static bool has_word(const std::string& text, std::string_view word) {
    const std::size_t at = text.find(word);
    const auto is_name = [&](std::size_t i) {
      return i < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
    };
    return at != std::string::npos && (at == 0 || !is_name(at - 1)) && !is_name(at + word.size());
  }

  bool opens_function() const {
    const bool type = has_word(head_, "class") || has_word(head_, "struct") ||
                      has_word(head_, "enum") || has_word(head_, "namespace") ||
                      has_word(head_, "union");
    const std::size_t parameters = head_.find('(');
    const std::size_t assigned = head_.find(" = ");
    return parameters != std::string::npos && (!type || head_.find(')') != std::string::npos) &&
           (assigned == std::string::npos || parameters < assigned);
  }

  void read(char c) {
    line_ += c == '\n' ? 1U : 0U;
    if (c == '(' || c == ')') {
      parentheses_ += c == '(' ? 1 : -1;
    }
    if (c == '{') {
      open();
    } else if (c == '}') {
      close();
    } else if (c == ';' && parentheses_ == 0) {
      head_.clear();
    } else if (head_.empty() ? std::isspace(static_cast<unsigned char>(c)) == 0 : true) {
      head_line_ = head_.empty() ? line_ : head_line_;
      head_ += c;
    }
  }

  /// Whether the block being opened indents the code in it: initialisers do not count.
  bool opens_statement() const {
    for (const std::string_view word :
         {"if", "for", "while", "switch", "else", "do", "try", "catch"}) {
      if (has_word(head_, word)) {
        return true;
      }
    }
    return false;
  }

  void open() {
    const bool statement = in_function_ && opens_statement();
    if (!in_function_ && opens_function()) {
      in_function_ = true;
      function_depth_ = statements_.size();
      function_line_ = head_line_;
    }
    statements_.push_back(statement);
    nesting_ += statement ? 1 : 0;
    if (statement && nesting_ > kNestingMax) {
      found_.push_back(at(file_, line_, "nested deeper than " + std::to_string(kNestingMax)));
    }
    head_.clear();
  }

  void close() {
    if (statements_.empty()) {
      return;
    }
    nesting_ -= statements_.back() ? 1 : 0;
    statements_.pop_back();
    head_.clear();
    if (!in_function_ || statements_.size() != function_depth_) {
      return;
    }
    in_function_ = false;
    const auto lines = static_cast<int>(line_ - function_line_ + 1);
    if (lines > kFunctionLinesMax) {
      found_.push_back(at(file_, function_line_,
                          "function of " + std::to_string(lines) + " lines, at most " +
                              std::to_string(kFunctionLinesMax)));
    }
  }

  const SourceFile& file_;
  Violations found_;
  std::string head_;  ///< Code since the last brace or semicolon.
  std::size_t line_ = 0;
  std::size_t head_line_ = 0;
  int parentheses_ = 0;
  bool in_function_ = false;
  std::size_t function_depth_ = 0;
  std::size_t function_line_ = 0;
  std::vector<bool> statements_;  ///< One a open brace: does it indent a statement?
  int nesting_ = 0;
};

}  // namespace

Violations check_size(const SourceFile& file) {
  Violations found;
  const std::vector<std::string> lines = lines_of(file.text);
  if (lines.size() > kFileLinesMax) {
    found.push_back(
        at(file, 0,
           std::to_string(lines.size()) + " lines, at most " + std::to_string(kFileLinesMax)));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (columns_of(lines[i]) > kColumnsMax) {
      found.push_back(at(file, i, "wider than " + std::to_string(kColumnsMax) + " columns"));
    }
  }
  return found;
}

Violations check_functions(const SourceFile& file) {
  return FunctionScan(file).run();
}

Violations check_words(const SourceFile& file) {
  // Put together here, so that this file does not violate its own rule.
  const std::string words[] = {std::string("TO") + "DO", std::string("FIX") + "ME",
                               std::string("XX") + "X:", std::string("HA") + "CK:"};
  Violations found;
  const std::vector<std::string> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string& word : words) {
      if (lines[i].find(word) != std::string::npos) {
        found.push_back(at(file, i, "says " + word));
      }
    }
  }
  return found;
}

Violations check_citations(const SourceFile& file) {
  // Put together here, so that this file does not violate its own rule.
  static const std::string kSections[] = {std::string("esi") + "gn ", std::string("missi") + "on "};
  static const std::string kDocuments[] = {
      std::string("detection.") + "md", std::string("conventions.") + "md",
      std::string("mission.") + "md",   std::string("house.") + "md",
      std::string("(conven") + "tions", std::string("foundations.") + "md",
  };
  const auto is_section = [](const std::string& line, std::size_t place) {
    const bool ends = place >= line.size();
    return !ends && (std::isdigit(static_cast<unsigned char>(line[place])) != 0 ||
                     (std::isupper(static_cast<unsigned char>(line[place])) != 0 &&
                      place + 1 < line.size() &&
                      std::isdigit(static_cast<unsigned char>(line[place + 1])) != 0));
  };
  Violations found;
  const std::vector<std::string> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool names_section =
        std::any_of(std::begin(kSections), std::end(kSections), [&](const std::string& word) {
          const std::size_t place = lines[i].find(word);
          return place != std::string::npos && is_section(lines[i], place + word.size());
        });
    const bool names_document = std::any_of(
        std::begin(kDocuments), std::end(kDocuments),
        [&](const std::string& word) { return lines[i].find(word) != std::string::npos; });
    if (names_section || names_document) {
      found.push_back(at(file, i, "cites a document that is not here"));
    }
  }
  return found;
}

Violations check_all(const SourceFile& file) {
  Violations all;
  for (const auto& rule : {check_size, check_functions, check_words, check_citations,
                           check_libraries, check_floors, check_verb_lists, check_purity}) {
    const Violations found = rule(file);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace muster::repository
