#pragma once
// The prose of a file, in blocks: what a person reads from one end to the other. A block of a
// source is a comment: consecutive lines of one kind (`//`, `///`, `///<`) up to an empty one or to
// the next item of a list. A block of a document is a heading, a paragraph, an item of a list or a
// cell of a table. A block of the CLI's help is one string literal.

#include <cstddef>
#include <string>
#include <vector>

#include "tests/repository/source_rules.h"

namespace muster::repository {

struct Prose {
  std::string text;                ///< In one line: a break between two lines is a blank.
  std::vector<std::size_t> lines;  ///< Index of the line, one a character of `text`.
  bool begins = true;              ///< False: an expression stands before the literal.
  bool ends = true;                ///< False: an expression follows the literal.
  bool may_ask = false;            ///< A heading that is a question, or the head of a table.
  std::string callee;              ///< "options.number" if the literal is an argument of it.
};

std::vector<Prose> comments_of(const SourceFile& source);
/// Fenced and indented code is left out.
std::vector<Prose> paragraphs_of(const SourceFile& document);
/// Literals with a blank in them that are arguments of the functions of cli/kit/options.h or of
/// `setting`, or that stand outside of calls and look like a sentence: a capital and three words.
std::vector<Prose> help_lines_of(const SourceFile& source);

/// The same length, with an `x` for each character that is no prose: code in backquotes, addresses
/// of the web, identifiers with `_` or `::`, and what stands in quotation marks.
std::string readable(const std::string& text);

}  // namespace muster::repository
