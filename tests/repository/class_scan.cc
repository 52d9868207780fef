#include "tests/repository/class_scan.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "tests/repository/source_text.h"

namespace muster::repository {
namespace {

/// A statement at the level of a class declares one of these.
enum class Declares { kNothing, kField, kFunction };

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_word_at(std::string_view text, std::size_t at, std::string_view word) {
  const std::size_t end = at + word.size();
  return text.substr(at, word.size()) == word && (at == 0 || !is_name_character(text[at - 1])) &&
         (end == text.size() || !is_name_character(text[end]));
}

/// The first place of that word, or npos: there is no `operator` in `Operators operators_`.
std::size_t find_word(std::string_view text, std::string_view word) {
  std::size_t at = text.find(word);
  while (at != std::string_view::npos && !is_word_at(text, at, word)) {
    at = text.find(word, at + 1);
  }
  return at;
}

bool has_word(std::string_view text, std::string_view word) {
  return find_word(text, word) != std::string_view::npos;
}

bool ends_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && is_word_at(text, text.size() - word.size(), word);
}

/// Takes out angle brackets and [[brackets]] with all that stands in them: the field
/// `std::function<int(int)> f` has no parameters.
std::string without_arguments(std::string_view statement) {
  std::string plain;
  int depth = 0;
  for (std::size_t i = 0; i < statement.size(); ++i) {
    const char c = statement[i];
    const bool is_comparison = ends_with_word(statement.substr(0, i), "operator");
    if (c == '<' && !is_comparison) {
      ++depth;
    } else if (c == '>' && depth > 0) {
      --depth;
    } else if (statement.substr(i, 2) == "[[") {
      i = std::min(statement.find("]]", i), statement.size() - 2) + 1;
    } else if (depth == 0) {
      plain += c;
    }
  }
  return plain;
}

/// Lines that begin with # are blanked, and those that a backslash adds to them.
std::string without_directives(std::string code) {
  bool is_directive = false;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const bool begins_line = i == 0 || code[i - 1] == '\n';
    const bool goes_on = is_directive && i > 1 && code[i - 2] == '\\';
    is_directive = begins_line ? goes_on || code[i] == '#' : is_directive;
    code[i] = is_directive && code[i] != '\n' && code[i] != '\\' ? ' ' : code[i];
  }
  std::replace(code.begin(), code.end(), '\\', ' ');
  return code;
}

/// Without spaces around it, and with one blank where there were several.
std::string squeezed(std::string_view text) {
  std::string words;
  for (const char c : text) {
    const bool is_needed = !is_space(c) || (!words.empty() && words.back() != ' ');
    words += !is_needed ? "" : is_space(c) ? " " : std::string(1, c);
  }
  if (words.ends_with(' ')) {
    words.pop_back();
  }
  return words;
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(' ', at), text.size());
}

std::size_t skip_parentheses(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size() && (depth > 0 || text[at] == '(')) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    ++at;
  }
  return at;
}

constexpr std::string_view kRequires = "requires";

/// Behind an operand of a constraint: `(...)`, a concept, or `requires (...) {}`. npos: the brace
/// of its requirements is about to open.
std::size_t skip_operand(std::string_view text, std::size_t at) {
  if (is_word_at(text, at, kRequires)) {
    const std::size_t parameters = skip_blanks(text, at + kRequires.size());
    const std::size_t end = skip_blanks(text, skip_parentheses(text, parameters));
    return text.substr(end, 2) == "{}" ? end + 2 : std::string_view::npos;
  }
  std::size_t end = skip_parentheses(text, at);
  while (end < text.size() && (is_name_character(text[end]) || text[end] == ':')) {
    ++end;
  }
  return end;
}

/// As skip_operand(), of operands between && or ||.
std::size_t skip_operands(std::string_view text, std::size_t at) {
  std::size_t end = skip_operand(text, skip_blanks(text, at));
  while (end != std::string_view::npos) {
    const std::size_t next = skip_blanks(text, end);
    const std::string_view sign = text.substr(next, 2);
    if (sign != "&&" && sign != "||") {
      return next;
    }
    end = skip_operand(text, skip_blanks(text, next + 2));
  }
  return end;
}

/// Constraints, `requires A<T> && (B<T>)`, declare nothing. One whose requirements are about to
/// begin stays: its statement is not over.
std::string without_constraints(std::string plain) {
  std::size_t begin = find_word(plain, kRequires);
  while (begin != std::string::npos) {
    const std::size_t end = skip_operands(plain, begin + kRequires.size());
    if (end == std::string::npos) {
      break;
    }
    plain = squeezed(plain.substr(0, begin) + plain.substr(end));
    begin = find_word(plain, kRequires);
  }
  return plain;
}

/// A statement in plain words, without the template<...> before it and its constraints.
std::string plain_words(std::string_view statement) {
  const std::string plain = squeezed(without_arguments(statement));
  return without_constraints(plain.starts_with("template ") ? plain.substr(9) : plain);
}

Declares what_declares(const std::string& plain) {
  for (const std::string_view word : {"using ", "friend ", "static_assert", "typedef ", "enum ",
                                      "static constexpr ", "static const "}) {
    if (plain.starts_with(word)) {
      return Declares::kNothing;
    }
  }
  if (plain.empty()) {
    return Declares::kNothing;
  }
  if (has_word(plain, "operator")) {
    return Declares::kFunction;
  }
  const std::size_t parameters = plain.find('(');
  const std::size_t value = plain.find_first_of("={");
  const bool is_function =
      parameters != std::string::npos && (value == std::string::npos || parameters < value);
  const bool is_type = plain.starts_with("class ") || plain.starts_with("struct ");
  return is_function ? Declares::kFunction : is_type ? Declares::kNothing : Declares::kField;
}

/// Constructors, destructors and operators, of the class of that name without its outer ones.
bool is_of_the_language(const std::string& plain, const std::string& name) {
  std::size_t end = plain.find('(');
  end = end == std::string::npos ? plain.size() : end;
  std::size_t begin = end;
  while (begin > 0 && is_name_character(plain[begin - 1])) {
    --begin;
  }
  return has_word(plain, "operator") || plain.substr(begin, end - begin) == name;
}

/// Whether a brace opened behind this begins no body: a default in a parameter list, a member in a
/// constructor's list, `A() : a_{1} {}`, or the requirements of a constraint.
bool is_no_body(const std::string& plain) {
  if (has_word(plain, kRequires) ||
      std::count(plain.begin(), plain.end(), '(') > std::count(plain.begin(), plain.end(), ')')) {
    return true;
  }
  const std::size_t parameters = plain.find(')');
  if (parameters == std::string::npos || !is_name_character(plain.back())) {
    return false;
  }
  for (std::size_t i = parameters + 1; i < plain.size(); ++i) {
    const bool is_scope = plain[i] == ':' && (plain[i - 1] == ':' || plain.substr(i, 2) == "::");
    if (plain[i] == ':' && !is_scope) {
      return true;
    }
  }
  return false;
}

struct ClassHead {
  bool is_class = false;
  bool starts_private = false;
  std::string name;
};

/// "class X", also "struct Outer::X final : public Y".
ClassHead class_head(const std::string& plain) {
  const bool is_struct = plain.starts_with("struct ");
  if ((!is_struct && !plain.starts_with("class ")) || plain.find('(') != std::string::npos) {
    return {};
  }
  const std::size_t begin = plain.find(' ') + 1;
  std::size_t end = begin;
  while (end < plain.size() &&
         (is_name_character(plain[end]) || plain.compare(end, 2, "::") == 0)) {
    end += plain[end] == ':' ? 2 : 1;
  }
  return {end > begin, !is_struct, plain.substr(begin, end - begin)};
}

/// Reads a source brace by brace and counts what its classes declare.
class ClassScan {
 public:
  explicit ClassScan(const SourceFile& file) : code_(without_directives(code_of(file.text))) {}

  std::vector<ClassSize> run() {
    while (place_ < code_.size()) {
      read(code_[place_]);
      ++place_;
    }
    return std::move(found_);
  }

 private:
  struct Scope {
    bool is_class = false;
    bool is_private = false;
    std::size_t found = 0;  ///< Index of the class in found_.
    std::string name;       ///< Without those around it.
  };

  bool in_class() const { return !scopes_.empty() && scopes_.back().is_class; }

  void read(char c) {
    line_ += c == '\n' ? 1U : 0U;
    if (c == '{') {
      open();
    } else if (c == '}') {
      close();
    } else if (c == ';') {
      declare();
    } else if (c == ':' && is_access()) {
      scopes_.back().is_private = squeezed(statement_) != "public";
      statement_.clear();
    } else {
      statement_ += c;
    }
  }

  bool is_access() const {
    if (!in_class() || statement_.size() > 200) {
      return false;
    }
    const std::string word = squeezed(statement_);
    return word == "public" || word == "private" || word == "protected";
  }

  void open() {
    const std::string plain = plain_words(statement_);
    const ClassHead head = class_head(plain);
    if (head.is_class) {
      const std::string outer = in_class() ? found_[scopes_.back().found].name + "::" : "";
      scopes_.push_back(
          {true, head.starts_private, found_.size(), head.name.substr(head.name.rfind(':') + 1)});
      found_.push_back({outer + head.name, line_, 0, 0, 0});
      statement_.clear();
    } else if (plain.starts_with("namespace") || plain.starts_with("inline namespace") ||
               plain == "extern") {
      scopes_.push_back({});
      statement_.clear();
    } else {
      skip_block(plain);
    }
  }

  /// A body or an initialiser: what is in it declares nothing of the class.
  void skip_block(const std::string& plain) {
    int depth = 1;
    while (depth > 0 && ++place_ < code_.size()) {
      line_ += code_[place_] == '\n' ? 1U : 0U;
      depth += code_[place_] == '{' ? 1 : code_[place_] == '}' ? -1 : 0;
    }
    if (what_declares(plain) == Declares::kFunction && !is_no_body(plain)) {
      declare();
    } else {
      statement_ += "{}";
    }
  }

  void close() {
    if (!scopes_.empty()) {
      scopes_.pop_back();
    }
    statement_.clear();
  }

  void declare() {
    const std::string plain = in_class() ? plain_words(statement_) : "";
    statement_.clear();
    const Declares what = what_declares(plain);
    if (what == Declares::kNothing || !in_class()) {
      return;
    }
    const Scope& scope = scopes_.back();
    ClassSize& size = found_[scope.found];
    if (what == Declares::kField) {
      ++size.fields;
    } else if (!is_of_the_language(plain, scope.name)) {
      ++(scope.is_private ? size.private_functions : size.public_functions);
    }
  }

  std::string code_;
  std::vector<ClassSize> found_;
  std::vector<Scope> scopes_;
  std::string statement_;  ///< Since the last brace or semicolon.
  std::size_t place_ = 0;
  std::size_t line_ = 0;
};

}  // namespace

std::vector<ClassSize> classes_of(const SourceFile& file) {
  return ClassScan(file).run();
}

}  // namespace muster::repository
