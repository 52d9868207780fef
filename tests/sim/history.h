#pragma once
// One short history for the checker of linearisable.h: a few clients who ask different nodes of a
// whole cluster (world.h) to submit, to give orders and to read consistently, while faults drawn
// from the seed go on; then the network heals, and every node is asked once more. A client that
// heard nothing for a while asks something else: what it asked stays in the history without an
// answer. The history is judged after the run, by what clients saw alone.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/linearisable.h"

namespace muster::sim {

struct HistoryOptions {
  std::uint64_t seed = 1;
  bool trace = false;  ///< Print the events of the run.
};

struct HistoryResult {
  std::vector<Operation> operations;
  Verdict verdict;
  std::map<std::string, std::uint64_t> counts;  ///< Faults done, answers heard.
  std::uint64_t hash = 0;
};

/// The same options give the same result.
HistoryResult run_history(const HistoryOptions& options);

}  // namespace muster::sim
