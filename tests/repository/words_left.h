#pragma once
// Places whose comments, documents or help lines still have words that word_rules.h finds, with
// their exact numbers. A number only falls: a change that mends words lowers the row, or takes it
// out. A place without a row has none of these words. The table is empty: a row is not added.

#include <array>

#include "tests/repository/word_rules.h"

namespace muster::repository {

inline constexpr std::array<WordsLeft, 0> kWordsLeft = {};

}  // namespace muster::repository
