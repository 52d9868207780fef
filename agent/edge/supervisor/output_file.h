#pragma once
// Reads the output of a rank: a piece of DATA/grants/TOKEN/rank-N.log with its marks, on the thread
// of the caller, for the pieces are small and the disk is local.

#include <cstdint>
#include <optional>
#include <string>

#include "agent/api/output.h"

namespace muster::agent {

/// `directory`: of the grant. `is_supervised`: a supervisor lives; the rank has ended without one,
/// or when its evidence is there. `unix_ms`: now. nullopt if that rank has no output here.
std::optional<OutputChunk> read_output(const std::string& directory, const OutputQuery& query,
                                       bool is_supervised, std::uint64_t unix_ms);

}  // namespace muster::agent
