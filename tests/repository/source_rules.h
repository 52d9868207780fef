#pragma once
// The rules of this house that a program can check, as functions of a file's path and text. A rule
// returns one line a violation: "path:line: what". Heuristic where C++ is hard to parse: braces and
// strings are understood, macros and templates are not expanded.

#include <string>
#include <vector>

namespace muster::repository {

inline constexpr int kFileLinesMax = 600;
inline constexpr int kFunctionLinesMax = 70;
inline constexpr int kNestingMax = 4;
inline constexpr int kColumnsMax = 100;
inline constexpr int kReadmeLinesMax = 40;

struct SourceFile {
  std::string path;  ///< From the root: "gossip/wire.cc".
  std::string text;
};

using Violations = std::vector<std::string>;

/// Whether the file may know the outside world; see kEdgeFiles in source_rules.cc.
bool is_edge(const std::string& path);

Violations check_size(const SourceFile& file);
/// Length and nesting of functions: a function is a brace block opened after a parameter list, at
/// namespace or class level.
Violations check_functions(const SourceFile& file);
/// Words that promise work instead of doing it.
Violations check_words(const SourceFile& file);
/// Which libraries a file may include.
Violations check_libraries(const SourceFile& file);
/// gossip < crdt < membership, scheduler < agent < cli.
Violations check_layers(const SourceFile& file);
/// What would make a pure machine differ between two runs.
Violations check_purity(const SourceFile& file);
/// All of the above.
Violations check_all(const SourceFile& file);

}  // namespace muster::repository
