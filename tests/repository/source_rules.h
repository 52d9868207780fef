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

Violations check_size(const SourceFile& file);
/// Length and nesting of functions: a function is a brace block opened after a parameter list, at
/// namespace or class level.
Violations check_functions(const SourceFile& file);
/// Words that promise work instead of doing it.
Violations check_words(const SourceFile& file);
/// Sections of documents that are not in this repository: a stranger cannot look them up.
Violations check_citations(const SourceFile& file);
/// All of the above, and the rules of rooms.h about one file.
Violations check_all(const SourceFile& file);

}  // namespace muster::repository
