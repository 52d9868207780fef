#pragma once
// A source as rules read it: its lines, its includes, its code without comments and literals.

#include <cstddef>
#include <string>
#include <vector>

#include "tests/repository/source_rules.h"

namespace muster::repository {

struct Include {
  std::size_t line;  ///< Index.
  std::string header;
  bool ours;  ///< "quoted".
};

std::vector<std::string> lines_of(const std::string& text);
std::vector<Include> includes_of(const SourceFile& file);
/// The end of the comment or literal that begins at `i`; `i` if none does.
std::size_t end_of_quoted(const std::string& text, std::size_t i);
/// The text with comments and literals blanked, so that every brace left is a brace of code.
std::string code_of(const std::string& text);
/// "path:line: what".
std::string at(const SourceFile& file, std::size_t index, const std::string& what);

}  // namespace muster::repository
