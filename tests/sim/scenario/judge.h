#pragma once
// Judges from a timeline alone whether a run met what its scenario expects, and its outcome: the
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

/// The story of the run as people tell it: "verdict h3", "mode partition_suspected", "stopped big",
/// each with its first moment. The leader, and events below a warning, are no part of it.
using Outcome = std::map<std::string, Duration>;

struct Judgement {
  std::vector<Finding> broken;
  std::vector<Figure> figures;  ///< The figures that were reached.
  Outcome outcome;
};

/// Precondition: `timeline` is in order.
Judgement judge(const Scenario& scenario, const Timeline& timeline);

/// The differences: there in one alone, or first seen further apart than `apart`. A line each.
std::vector<std::string> differences(const Outcome& left, const Outcome& right, Duration apart);

}  // namespace muster::sim::scenario
