#include "tests/repository/class_rules.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <string_view>

#include "tests/repository/source_text.h"

namespace muster::repository {
namespace {

struct NamedClass {
  std::string_view path;
  std::string_view name;
  int fields;
  int private_functions;
  std::string_view reason;
};
constexpr std::string_view kRecord = "a record that travels or is stored whole";
constexpr std::string_view kNotSplit = "outgrew one noun before there was this rule";
// A person adds a row only with a reason; whoever makes a class smaller lowers its row.
constexpr NamedClass kNamed[] = {
    {"agent/api/hosts.h", "HostInfo", 17, 0, kRecord},
    {"agent/api/jobs.h", "JobSummary", 25, 0, kRecord},
    {"agent/api/jobs.h", "WhyInfo", 23, 0, kRecord},
    {"agent/edge/supervisor/rank_supervisor.h", "RankSupervisors", 19, 25, kNotSplit},
    {"cli/kit/world.h", "World", 16, 0, "every door of the process, and nothing else"},
    {"membership/membership.h", "Membership", 17, 27, kNotSplit},
    {"membership/probe.h", "SubjectProbe", 29, 0, kNotSplit},
    {"scheduler/why/explain.h", "Why", 26, 0, kRecord},
    {"scheduler/raft/first_quorum.h", "FirstQuorum", 17, 19, kNotSplit},
    {"scheduler/raft/raft.h", "Raft", 49, 66, "one noun, the paper's, in five sources"},
    {"scheduler/raft/replication.h", "Replication", 18, 5, "what a leader knows of each follower"},
    {"scheduler/raft/types.h", "RaftConfig", 20, 0, kRecord},
    {"scheduler/state/array_book.h", "TaskArray", 19, 0, kRecord},
    {"scheduler/state/job_record.h", "HostRecord", 22, 0, kRecord},
    {"scheduler/state/reservations.h", "Attempt", 18, 0, kRecord},
};

/// What one statement at the level of a class declares.
enum class Declares { kNothing, kField, kFunction };

/// Angle brackets and what they hold are taken out: `std::function<int(int)> f` has no parameters.
std::string without_template_arguments(std::string_view statement) {
  std::string plain;
  int depth = 0;
  for (std::size_t i = 0; i < statement.size(); ++i) {
    const char c = statement[i];
    const bool is_comparison = i > 0 && statement.substr(0, i).ends_with("operator");
    if (c == '<' && !is_comparison) {
      ++depth;
    } else if (c == '>' && depth > 0) {
      --depth;
    } else if (depth == 0) {
      plain += c;
    }
  }
  return plain;
}

std::string without_directives(std::string code) {
  bool is_directive = false;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const bool begins_line = i == 0 || code[i - 1] == '\n';
    is_directive = begins_line ? code[i] == '#' : is_directive;
    code[i] = is_directive && code[i] != '\n' ? ' ' : code[i];
  }
  return code;
}

std::string trimmed(std::string text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
  while (!text.empty() && is_space(static_cast<unsigned char>(text.back()))) {
    text.pop_back();
  }
  return text;
}

Declares what_declares(const std::string& statement) {
  const std::string plain = trimmed(without_template_arguments(statement));
  for (const std::string_view word : {"using ", "friend ", "static_assert", "typedef ", "enum ",
                                      "static constexpr ", "static const ", "#"}) {
    if (plain.starts_with(word)) {
      return Declares::kNothing;
    }
  }
  if (plain.empty() || plain == "class" || plain == "struct") {
    return Declares::kNothing;
  }
  if (plain.find("operator") != std::string::npos) {
    return Declares::kFunction;
  }
  const std::size_t parameters = plain.find('(');
  const std::size_t value = plain.find_first_of("={");
  const bool is_function =
      parameters != std::string::npos && (value == std::string::npos || parameters < value);
  const bool is_type = plain.starts_with("class ") || plain.starts_with("struct ");
  return is_function ? Declares::kFunction : is_type ? Declares::kNothing : Declares::kField;
}

/// Reads a header brace by brace and counts what its classes declare.
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
    bool is_counted = true;  ///< False for the words that a class hands out: its public structs.
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
      scopes_.back().is_private = trimmed(statement_) != "public";
      statement_.clear();
    } else {
      statement_ += c;
    }
  }

  bool is_access() const {
    const std::string word = trimmed(statement_);
    return in_class() && (word == "public" || word == "private" || word == "protected");
  }

  /// "class X", also behind template<...>; nothing for what is no class.
  std::string class_name() const {
    static const std::regex kHead(R"(^(?:template )?(class|struct) (\w+)[^()]*$)");
    static const std::regex kSpace("\\s+");
    const std::string plain = trimmed(without_template_arguments(statement_));
    const std::string head = std::regex_replace(plain, kSpace, " ");
    std::smatch match;
    return std::regex_match(head, match, kHead) ? match[2].str() : "";
  }

  void open() {
    const std::string name = class_name();
    const bool is_class = !name.empty();
    if (is_class) {
      if (classes_open_ == 0) {
        found_.push_back({name, line_, 0, 0});
      }
      ++classes_open_;
      const bool starts_private = trimmed(statement_).find("class ") != std::string::npos;
      const bool is_inner = in_class();
      const bool inherits = is_inner && scopes_.back().is_private;
      scopes_.push_back({true, starts_private || inherits, !is_inner || inherits});
      statement_.clear();
      return;
    }
    const bool is_namespace = trimmed(statement_).starts_with("namespace");
    if (is_namespace) {
      scopes_.push_back({});
      statement_.clear();
      return;
    }
    skip_block();
  }

  /// A body or an initialiser: what is in it declares nothing of the class.
  void skip_block() {
    int depth = 1;
    while (depth > 0 && ++place_ < code_.size()) {
      line_ += code_[place_] == '\n' ? 1U : 0U;
      depth += code_[place_] == '{' ? 1 : code_[place_] == '}' ? -1 : 0;
    }
    const bool is_body = what_declares(statement_) == Declares::kFunction;
    statement_ += is_body ? "" : "{}";
    if (is_body) {
      declare();
    }
  }

  void close() {
    if (!scopes_.empty()) {
      classes_open_ -= scopes_.back().is_class ? 1 : 0;
      scopes_.pop_back();
    }
    statement_.clear();
  }

  void declare() {
    if (in_class() && scopes_.back().is_counted) {
      const Declares what = what_declares(statement_);
      found_.back().fields += what == Declares::kField ? 1 : 0;
      const bool is_private = what == Declares::kFunction && scopes_.back().is_private;
      found_.back().private_functions += is_private ? 1 : 0;
    }
    statement_.clear();
  }

  std::string code_;
  std::vector<ClassSize> found_;
  std::vector<Scope> scopes_;
  std::string statement_;  ///< Since the last brace or semicolon.
  std::size_t place_ = 0;
  std::size_t line_ = 0;
  int classes_open_ = 0;
};

const NamedClass* named(const std::string& path, const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(kNamed), std::end(kNamed),
                   [&](const NamedClass& each) { return each.path == path && each.name == name; });
  return found == std::end(kNamed) ? nullptr : found;
}

bool is_beyond(const ClassSize& size) {
  return size.fields > kFieldsMax || size.private_functions > kPrivateFunctionsMax;
}

bool is_product_header(const std::string& path) {
  return path.ends_with(".h") && !path.starts_with("tests/") && !path.starts_with("bench/");
}

std::string numbers(int fields, int private_functions) {
  return std::to_string(fields) + " fields and " + std::to_string(private_functions) +
         " private functions";
}

}  // namespace

std::vector<ClassSize> classes_of(const SourceFile& file) {
  return ClassScan(file).run();
}

Violations check_classes(const SourceFile& file) {
  Violations found;
  if (!is_product_header(file.path)) {
    return found;
  }
  for (const ClassSize& size : classes_of(file)) {
    const NamedClass* known = named(file.path, size.name);
    const bool is_as_named = known != nullptr && known->fields == size.fields &&
                             known->private_functions == size.private_functions;
    if (known != nullptr ? !is_as_named : is_beyond(size)) {
      const std::string should =
          known == nullptr ? "at most " + numbers(kFieldsMax, kPrivateFunctionsMax)
                           : "named with " + numbers(known->fields, known->private_functions);
      found.push_back(
          at(file, size.line,
             size.name + " has " + numbers(size.fields, size.private_functions) + ", " + should));
    }
  }
  return found;
}

Violations check_named_classes(const std::vector<SourceFile>& files) {
  Violations found;
  for (const NamedClass& each : kNamed) {
    const bool is_needed = std::any_of(files.begin(), files.end(), [&](const SourceFile& file) {
      const std::vector<ClassSize> sizes =
          file.path == each.path ? classes_of(file) : std::vector<ClassSize>();
      return std::any_of(sizes.begin(), sizes.end(), [&](const ClassSize& size) {
        return size.name == each.name && is_beyond(size);
      });
    });
    if (!is_needed) {
      found.push_back(std::string(each.path) + ": " + std::string(each.name) +
                      " need not be named any more");
    }
  }
  return found;
}

Violations check_machines(const std::vector<SourceFile>& files) {
  static const std::regex kClass(R"(\n(?:class|struct) (\w+)[^;{]*\{)");
  std::string asserted;
  for (const SourceFile& file : files) {
    if (file.text.find("static_assert(StateMachine<") != std::string::npos) {
      asserted += file.text;
    }
  }
  Violations found;
  for (const SourceFile& file : files) {
    const bool steps = file.text.find("\n  void step(Instant now, Input ") != std::string::npos;
    if (!is_product_header(file.path) || !steps) {
      continue;
    }
    const std::size_t step = file.text.find("\n  void step(Instant now, Input ");
    std::string name;
    for (std::sregex_iterator each(file.text.begin(), file.text.end(), kClass), end; each != end;
         ++each) {
      name = static_cast<std::size_t>(each->position()) < step ? (*each)[1].str() : name;
    }
    if (asserted.find("static_assert(StateMachine<" + name + ">)") == std::string::npos) {
      found.push_back(file.path + ": nothing asserts that " + name + " is a StateMachine");
    }
  }
  return found;
}

}  // namespace muster::repository
