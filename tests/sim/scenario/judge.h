#pragma once
// Whether a run kept what its scenario expects, and what came of it, from its timeline alone: the
// same judge for both worlds.

#include <map>
#include <string>
#include <vector>

#include "tests/sim/scenario/timeline.h"
#include "tests/sim/scenario/words.h"

namespace muster::sim::scenario {

struct Finding {
  int line = 0;      ///< Of the scenario.
  std::string text;  ///< The expectation, and what was seen instead.
};

struct Figure {
  std::string name;
  double seconds = 0;
};

/// What people would tell of the run: "verdict h3", "mode partition_suspected", "stopped big",
/// each with its first moment. Who leads, and what is below a warning, is no part of it.
using Outcome = std::map<std::string, Duration>;

struct Judgement {
  std::vector<Finding> broken;
  std::vector<Figure> figures;  ///< Those that were reached.
  Outcome outcome;
};

/// Precondition: `timeline` is in order.
Judgement judge(const Scenario& scenario, const Timeline& timeline);

/// What differs: there in one alone, or first seen further apart than `apart`. A line each.
std::vector<std::string> differences(const Outcome& left, const Outcome& right, Duration apart);

}  // namespace muster::sim::scenario
