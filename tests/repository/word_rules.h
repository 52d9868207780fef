#pragma once
// The words of comments, documents and help lines, as the section "Words" of STYLE.md asks for
// them. prose.h says which text is read as one block. The rule finds:
//
// - A sentence that begins with "Who", "Whose", "Whom", "Whoever", "What", "Nothing", "Those" or
//   "So". The first word of a block begins a sentence. A later one does if it has a capital and
//   stands behind ". ", "? " or "! ". A heading that ends with "?" and the head of a table may ask.
// - A possessive before a full stop, before a semicolon or where its block ends: "The Node's." A
//   contraction, as in "it's", is lawful.
// - The words "anew", "whoever", "whomever", "is none", "are none"; "as one" before a mark.
// - Two defaults behind each other. The functions options.number and options.integer add a default.
// - A verb of the CLI whose description begins with a word that is no verb in the imperative.
//
// A room or document that had such words before the rule has a row in words_left.h. Its number only
// falls.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/repository/source_rules.h"

namespace muster::repository {

/// A place that may have so many violations, and no fewer.
struct WordsLeft {
  std::string_view place;  ///< The room of sources, as room_of() says, or the path of a document.
  std::size_t count;
};

/// The rows of words_left.h.
std::span<const WordsLeft> words_left();

/// Each violation of a header, a source or a document, in the order of its lines.
Violations check_prose(const SourceFile& file);
/// The violations of each place that has more of them than its row says; the row itself if the
/// number is smaller, or if there is no such place any more.
Violations check_words_left(const std::vector<SourceFile>& files,
                            std::span<const WordsLeft> rows = words_left());
/// The rows as they would have to be, as they stand in words_left.h.
std::string rows_of_words(const std::vector<SourceFile>& files);

}  // namespace muster::repository
