#include "tests/repository/readme_rules.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <vector>

#include "tests/repository/source_text.h"

namespace muster::repository {
namespace {

constexpr std::string_view kEndings[] = {".h",   ".cc",  ".py",       ".sh",    ".md",
                                         ".pml", ".txt", ".scenario", ".cmake", ".*"};
constexpr std::string_view kNounEndings[] = {".h", ".cc"};
constexpr std::string_view kSourceEndings[] = {".h", ".cc", ".py", ".sh", ".pml", ".scenario"};
/// First cells of tables whose first column holds names of what is there.
constexpr std::string_view kTablesOfPaths[] = {"|file|", "|room|", "|folder|"};
constexpr std::string_view kTableOfFiles = kTablesOfPaths[0];

/// Folders below a host's data directory.
constexpr std::string_view kEnvironments[] = {"id/", "raft/", "state/", "history/", "grants/"};

/// A word in backquotes.
struct Name {
  std::string text;
  std::size_t line = 0;    ///< Index.
  bool is_listed = false;  ///< In the first column of a table of paths.
};

template <class Endings>
bool ends_with_one(std::string_view path, const Endings& endings) {
  return std::any_of(std::begin(endings), std::end(endings),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

std::string without_ending(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const std::size_t slash = path.rfind('/');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || slash < dot);
  return has_ending ? path.substr(0, dot) : path;
}

/// The words in backquotes of a line, split at blanks.
void add_names(const std::string& line, std::size_t index, bool in_table,
               std::vector<Name>& names) {
  bool is_quoted = false;
  int column = 0;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) {
      names.push_back({word, index, in_table && column == 1});
    }
    word.clear();
  };
  for (const char c : line) {
    if (c == '`' || (is_quoted && c == ' ')) {
      end_word();
      is_quoted = c == '`' ? !is_quoted : is_quoted;
    } else if (is_quoted) {
      word += c;
    }
    column += c == '|' && !is_quoted ? 1 : 0;
  }
  end_word();
}

/// Without blanks, in lower case: as in kTablesOfPaths.
std::string folded(const std::string& line) {
  std::string folded;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    folded += std::isspace(byte) != 0 ? "" : std::string(1, static_cast<char>(std::tolower(byte)));
  }
  return folded;
}

bool has_table_of_files(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return folded(line).starts_with(kTableOfFiles);
  });
}

std::vector<Name> names_of(const std::string& text) {
  std::vector<Name> names;
  const std::vector<std::string> lines = lines_of(text);
  bool in_table = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = folded(lines[i]);
    const bool is_head = std::any_of(std::begin(kTablesOfPaths), std::end(kTablesOfPaths),
                                     [&](std::string_view head) { return line.starts_with(head); });
    in_table = is_head || (in_table && line.starts_with('|'));
    add_names(lines[i], i, in_table, names);
  }
  return names;
}

bool is_path_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_./*-").find(c) != std::string_view::npos;
}

/// A path of the tree: nothing that is made or lies on a host, and no option.
bool is_path(const Name& name) {
  const bool is_environment =
      !name.is_listed && std::find(std::begin(kEnvironments), std::end(kEnvironments), name.text) !=
                             std::end(kEnvironments);
  const bool is_elsewhere = is_environment || name.text.starts_with("/") ||
                            name.text.starts_with("-") || name.text.starts_with("build/") ||
                            name.text.starts_with("DATA/");
  const bool is_plain = std::all_of(name.text.begin(), name.text.end(), is_path_character);
  return is_plain && !is_elsewhere &&
         (name.is_listed || name.text.find('/') != std::string::npos ||
          ends_with_one(name.text, kEndings));
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_capitals(const std::string& word) {
  return word.size() > 1 && std::all_of(word.begin(), word.end(), [](char c) {
           return std::isupper(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

/// A file or folder with `*` for each word in capitals between its dots.
std::string with_wildcards(const std::string& component) {
  std::string pattern;
  for (const std::string& word : parts_of(component, '.')) {
    pattern += (is_capitals(word) ? "*" : word) + ".";
  }
  pattern.pop_back();
  return pattern;
}

bool is_literal(const std::string& component) {
  return component.find('*') == std::string::npos &&
         std::any_of(component.begin(), component.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

/// "golden/NAME.txt" as "golden/*.txt". Where no file or folder is named in full, as in `HTTP.h`
/// and `TCP/IP`, words in capitals stand for themselves, and so they do in the names of documents.
std::string as_pattern(const std::string& name) {
  if (name.ends_with(".md")) {
    return name;
  }
  bool is_anchored = false;
  std::string pattern;
  for (const std::string& component : parts_of(name, '/')) {
    const std::string part = with_wildcards(component);
    is_anchored = is_anchored || is_literal(part);
    pattern += part + "/";
  }
  pattern.pop_back();
  return is_anchored ? pattern : name;
}

/// A star stands for anything but a slash.
bool is_match(std::string_view text, std::string_view pattern) {
  if (pattern.empty() || text.empty()) {
    return text.empty() && pattern.find_first_not_of('*') == std::string_view::npos;
  }
  if (pattern.front() == '*') {
    return is_match(text, pattern.substr(1)) ||
           (text.front() != '/' && is_match(text.substr(1), pattern));
  }
  return text.front() == pattern.front() && is_match(text.substr(1), pattern.substr(1));
}

/// All that may be named in the README of a folder.
class Known {
 public:
  Known(const std::string& folder, const std::set<std::string>& paths) {
    for (const std::string& path : paths) {
      add(path, path.starts_with(folder + "/") ? folder.size() + 1 : std::string::npos);
    }
  }

  bool has(const std::string& pattern) const {
    return names_.contains(pattern) ||
           (pattern.find('*') != std::string::npos &&
            std::any_of(names_.begin(), names_.end(),
                        [&](const std::string& each) { return is_match(each, pattern); }));
  }

 private:
  /// A file, its folders, and each as it is seen from the folder at `from` and from those below.
  void add(const std::string& path, std::size_t from) {
    add_names_of(path);
    while (from != std::string::npos) {
      add_names_of(path.substr(from));
      const std::size_t slash = path.find('/', from);
      from = slash == std::string::npos ? slash : slash + 1;
    }
  }

  void add_names_of(const std::string& path) {
    names_.insert(path);
    names_.insert(without_ending(path));
    for (std::size_t end = path.find('/'); end != std::string::npos;
         end = path.find('/', end + 1)) {
      names_.insert(path.substr(0, end));
      names_.insert(path.substr(0, end + 1));
    }
  }

  std::set<std::string> names_;
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// "../step/node_interface.h" in the README of agent/node is "agent/step/node_interface.h".
std::string resolved(std::string folder, std::string name) {
  if (name.starts_with("./")) {
    return name.substr(2);
  }
  if (!name.starts_with("../")) {
    return name;
  }
  while (name.starts_with("../")) {
    name = name.substr(3);
    folder = folder_of(folder);
  }
  return folder.empty() ? name : folder + "/" + name;
}

/// The folders right below that hold sources, at any depth.
std::set<std::string> folders_in(const std::string& folder, const std::set<std::string>& paths) {
  std::set<std::string> folders;
  for (const std::string& path : paths) {
    const std::size_t begin = folder.size() + 1;
    const std::size_t slash = path.find('/', begin);
    if (path.starts_with(folder + "/") && slash != std::string::npos &&
        ends_with_one(path, kSourceEndings)) {
      folders.insert(path.substr(begin, slash - begin));
    }
  }
  return folders;
}

std::set<std::string> nouns_in(const std::string& folder, const std::set<std::string>& paths) {
  std::set<std::string> nouns;
  for (const std::string& path : paths) {
    if (folder_of(path) == folder && ends_with_one(path, kNounEndings)) {
      nouns.insert(without_ending(path).substr(folder.size() + 1));
    }
  }
  return nouns;
}

bool names_folder(const std::vector<Name>& names, const std::string& folder,
                  const std::string& below) {
  return std::any_of(names.begin(), names.end(), [&](const Name& name) {
    const std::string text = name.text + "/";
    return text.starts_with(below + "/") || text.starts_with(folder + "/" + below + "/");
  });
}

bool names_noun(const std::vector<Name>& names, const std::string& noun) {
  return std::any_of(names.begin(), names.end(), [&](const Name& name) {
    return is_match(noun, name.text) || is_match(noun + ".h", name.text) ||
           is_match(noun + ".cc", name.text);
  });
}

}  // namespace

Violations check_readme(const SourceFile& readme, const std::set<std::string>& paths) {
  const std::string folder = folder_of(readme.path);
  const std::vector<Name> names = names_of(readme.text);
  const Known known(folder, paths);
  Violations found;
  for (const Name& name : names) {
    if (is_path(name) && !known.has(resolved(folder, as_pattern(name.text)))) {
      found.push_back(at(readme, name.line, "there is no " + name.text));
    }
  }
  for (const std::string& below : folders_in(folder, paths)) {
    if (!names_folder(names, folder, below)) {
      found.push_back(readme.path + ": does not name the folder " + below);
    }
  }
  const bool lists_files = has_table_of_files(readme.text);
  for (const std::string& noun : nouns_in(folder, paths)) {
    if (lists_files && !names_noun(names, noun)) {
      found.push_back(readme.path + ": does not name " + noun);
    }
  }
  return found;
}

}  // namespace muster::repository
