#pragma once
// The table of verbs: how each is written, what it does, and in which world it can be done.

#include <span>
#include <string_view>

#include "tests/sim/scenario/words.h"

namespace muster::sim::scenario {

struct VerbRow {
  Verb verb;
  std::string_view words;      ///< The words that it begins with: "power off".
  std::string_view arguments;  ///< Behind the words, for people.
  std::string_view meaning;
  std::string_view not_simulated;  ///< Why the simulator lacks it; "" = it has it.
  std::string_view not_real;       ///< Why real agents lack it; "" = they have it.
};

/// In the order of Verb.
std::span<const VerbRow> verb_table();
const VerbRow& row_of(Verb verb);

}  // namespace muster::sim::scenario
