#include "tests/repository/source_rules.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <string_view>

namespace muster::repository {
namespace {

/// Every file of the product that may touch sockets, clocks, threads, files or processes: a path
/// or, with a trailing '*', a prefix. Whatever is not listed here in a folder of kLayers is pure.
constexpr std::string_view kEdgeFiles[] = {
    "gossip/base/check.cc",  "gossip/zmq_*",           "gossip/tcp_knock.*",
    "crdt/lmdb_store.*",     "crdt/data_lock.*",       "gossip/boot_clock.h",
    "crdt/storage_thread.*", "agent/data_directory.*", "agent/host_key.*",
    "agent/event_loop*",     "agent/edge_*",           "agent/kept_grants.*",
    "agent/rank_output.*",   "agent/rank_supervisor*", "agent/supervise*",
    "agent/gpu_inventory*",  "agent/raft_home*",       "agent/http_server*",
    "agent/config_file*",    "agent/event_log.*",      "agent/local_host*",
    "agent/clock*",          "agent/run_agent.*",      "cli/*",
};

/// Lower may not include higher; equal ones may not include each other.
const std::map<std::string, int> kLayers = {
    {"gossip", 0}, {"crdt", 1}, {"membership", 2}, {"scheduler", 2}, {"agent", 3}, {"cli", 4},
};

struct LibraryRule {
  std::string_view header;              ///< Or its prefix.
  std::vector<std::string_view> users;  ///< Patterns as in kEdgeFiles.
};
const LibraryRule kLibraries[] = {
    {"msgpack", {"gossip/wire.cc"}},
    {"zmq", {"gossip/zmq_*", "tests/*", "bench/*"}},
    {"lmdb", {"crdt/lmdb_store.cc", "tests/crdt_lmdb/*", "bench/*"}},
    {"sodium", {"agent/host_key.cc"}},
    {"spdlog/", {"agent/*", "cli/*"}},
    {"toml", {"agent/*", "cli/*"}},
    {"CLI/", {"cli/*"}},
    {"nlohmann/", {"agent/*", "cli/*", "tests/*", "bench/*"}},
};

constexpr std::string_view kImpureHeaders[] = {
    "thread",     "mutex",    "condition_variable",
    "future",     "fstream",  "iostream",
    "filesystem", "random",   "unordered_map",
    "cstdio",     "ctime",    "unordered_set",
    "sys/",       "netinet/", "unistd.h",
    "fcntl.h",    "poll.h",   "pthread.h",
    "time.h",     "signal.h", "stdio.h",
    "netdb.h",    "dlfcn.h",  "syslog.h",
};

constexpr std::string_view kImpureWords[] = {
    "unordered_",    "random_device", "_clock::now",  "std::rand(", "_distribution",
    "std::thread",   "std::mutex",    "getenv(",      "std::cout",  "std::cerr",
    "clock_gettime", "spdlog::",      "thread_local", "boot_now(",
};

bool matches(std::string_view path, std::string_view pattern) {
  if (pattern.ends_with('*')) {
    return path.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  return path == pattern;
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

bool is_pure(const std::string& path) {
  return kLayers.contains(folder_of(path)) && !is_edge(path);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string at(const SourceFile& file, std::size_t index, const std::string& what) {
  return file.path + ":" + std::to_string(index + 1) + ": " + what;
}

/// Characters a terminal shows, not bytes.
int columns_of(const std::string& line) {
  return static_cast<int>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// The end of a comment or literal that begins at `i`, or `i` when none does.
std::size_t skip_quoted(const std::string& text, std::size_t i) {
  const auto past = [&](std::string_view end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    return found == std::string::npos ? text.size() : found + end.size();
  };
  if (text.compare(i, 2, "//") == 0) {
    const std::size_t end = text.find('\n', i);
    return end == std::string::npos ? text.size() : end;
  }
  if (text.compare(i, 2, "/*") == 0) {
    return past("*/", i + 2);
  }
  if (text.compare(i, 2, "R\"") == 0) {
    const std::size_t open = text.find('(', i);
    return open == std::string::npos ? text.size()
                                     : past(")" + text.substr(i + 2, open - i - 2) + "\"", open);
  }
  const bool digit_separator = i > 0 && std::isxdigit(static_cast<unsigned char>(text[i - 1])) != 0;
  if (text[i] != '"' && (text[i] != '\'' || digit_separator)) {
    return i;
  }
  std::size_t end = i + 1;
  while (end < text.size() && text[end] != text[i] && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return std::min(end + 1, text.size());
}

/// The text with comments and literals blanked, so that every brace left is a brace of code.
std::string code_of(const std::string& text) {
  std::string code = text;
  for (std::size_t i = 0; i < code.size();) {
    const std::size_t end = skip_quoted(text, i);
    for (std::size_t j = i; j < end; ++j) {
      code[j] = text[j] == '\n' ? '\n' : ' ';
    }
    i = end == i ? i + 1 : end;
  }
  return code;
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

struct Include {
  std::size_t line;
  std::string header;
  bool ours;  ///< "quoted".
};

std::vector<Include> includes_of(const SourceFile& file) {
  std::vector<Include> includes;
  const std::vector<std::string> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t open = lines[i].find_first_of("<\"");
    if (!lines[i].starts_with("#include") || open == std::string::npos) {
      continue;
    }
    const std::size_t close = lines[i].find_first_of(">\"", open + 1);
    includes.push_back({i, lines[i].substr(open + 1, close - open - 1), lines[i][open] == '"'});
  }
  return includes;
}

bool is_library(const std::string& header, std::string_view library) {
  return header == library || header.starts_with(std::string(library) + ".") ||
         (library.ends_with('/') ? header.starts_with(library)
                                 : header.starts_with(std::string(library) + "/"));
}

}  // namespace

bool is_edge(const std::string& path) {
  return std::any_of(std::begin(kEdgeFiles), std::end(kEdgeFiles),
                     [&](std::string_view pattern) { return matches(path, pattern); });
}

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

Violations check_libraries(const SourceFile& file) {
  Violations found;
  for (const Include& include : includes_of(file)) {
    for (const LibraryRule& rule : kLibraries) {
      const bool allowed =
          include.ours || !is_library(include.header, rule.header) ||
          std::any_of(rule.users.begin(), rule.users.end(),
                      [&](std::string_view user) { return matches(file.path, user); });
      if (!allowed) {
        found.push_back(at(file, include.line, "<" + include.header + "> is fenced in elsewhere"));
      }
    }
  }
  return found;
}

Violations check_layers(const SourceFile& file) {
  Violations found;
  const auto own = kLayers.find(folder_of(file.path));
  if (own == kLayers.end()) {
    return found;
  }
  for (const Include& include : includes_of(file)) {
    const auto other = kLayers.find(folder_of(include.header));
    const bool foreign = include.ours && other != kLayers.end() && other->first != own->first;
    if (foreign && other->second >= own->second) {
      found.push_back(at(file, include.line, own->first + "/ may not know " + include.header));
    }
    if (include.ours && is_pure(file.path) && is_edge(include.header)) {
      found.push_back(at(file, include.line, "a pure file may not know " + include.header));
    }
  }
  return found;
}

Violations check_purity(const SourceFile& file) {
  Violations found;
  if (!is_pure(file.path)) {
    return found;
  }
  for (const Include& include : includes_of(file)) {
    for (const std::string_view impure : kImpureHeaders) {
      const bool hit =
          impure.ends_with('/') ? include.header.starts_with(impure) : include.header == impure;
      if (hit && !include.ours) {
        found.push_back(
            at(file, include.line, "a pure file may not include <" + include.header + ">"));
      }
    }
  }
  const std::vector<std::string> lines = lines_of(code_of(file.text));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string_view word : kImpureWords) {
      if (lines[i].find(word) != std::string::npos) {
        found.push_back(at(file, i, "a pure file may not use " + std::string(word)));
      }
    }
  }
  return found;
}

Violations check_all(const SourceFile& file) {
  Violations all;
  for (const auto& rule :
       {check_size, check_functions, check_words, check_libraries, check_layers, check_purity}) {
    const Violations found = rule(file);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace muster::repository
