#pragma once
// The entries that bench_quorum commits: hosts and jobs first, then rounds in which every job is
// decided and every attempt aborted again, so that one state serves any number of grants.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/state/state.h"

namespace muster::bench {

class GrantLoad {
 public:
  enum class Phase : std::uint8_t { kPreparing, kDeciding, kAborting };

  /// `jobs` jobs of one GPU, and as many GPUs, eight a host.
  explicit GrantLoad(std::uint32_t jobs) : jobs_(jobs) {}

  // Parts, for other loads.
  /// The registration of the next host; nullopt after the last.
  std::optional<std::string> next_host();
  static std::string submit(std::uint64_t number);
  /// Decide (which becomes `token`), Ready, Start and Finish of a job on one GPU.
  static std::vector<std::string> life_of(JobId job, std::uint32_t gpu, const Token& token);

  Phase phase() const { return phase_; }
  std::uint32_t jobs() const { return jobs_; }
  /// The next entry of this phase; nullopt if there are no more.
  std::optional<std::string> next();
  /// Goes on to the next phase if all entries of this one are applied.
  void turn(const scheduler::State& state);

 private:
  std::uint32_t jobs_;
  Phase phase_ = Phase::kPreparing;
  std::uint32_t given_ = 0;
  std::uint32_t hosts_given_ = 0;
  std::uint32_t round_ = 0;
  std::deque<Token> tokens_;  ///< Attempts to abort in this phase.
};

}  // namespace muster::bench
