#pragma once
// A scenario and the table of verbs as JSON: what the driver of real agents reads
// (scenarios/real).

#include <string>

#include "tests/sim/scenario/words.h"

namespace muster::sim::scenario {

std::string to_json(const Scenario& scenario);
std::string verbs_as_json();

}  // namespace muster::sim::scenario
