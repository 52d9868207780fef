#pragma once
// The options of Slurm that people bring along, and their names here.

#include <span>

#include "cli/kit/options.h"

namespace muster::cli {

/// For `submit`, after sbatch and srun.
std::span<const OptionHint> submit_hints();
/// For `jobs`, after squeue and sacct.
std::span<const OptionHint> jobs_hints();

}  // namespace muster::cli
