#pragma once
// The evidence that a supervisor leaves of the end of its ranks: the mark that somebody asked them
// to end, and their results. Both have disk space reserved before the first exec: a disk that is
// full when ranks end must not turn a success into "lost", and its work into work that is done
// twice. Owned by Supervisor.

#include <cstddef>
#include <string>
#include <vector>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/ranks/reserved_file.h"
#include "gossip/base/result.h"
#include "scheduler/protocol/job.h"

namespace muster::agent {

class ExitEvidence {
 public:
  /// Takes the space in the working directory. After an error no rank of `order` may be launched.
  Status reserve(const LaunchOrder& order);

  void add(scheduler::RankResult result) { results_.push_back(std::move(result)); }
  /// In order of ending, until complete().
  const std::vector<scheduler::RankResult>& results() const { return results_; }
  /// True if results were added since the last call.
  bool has_news();

  /// Durable before the first TERM.
  Status mark_signalled(const std::string& reason) { return signalled_.write(reason); }
  /// `results` are all of them, in the order of ranks.
  Status complete(std::vector<scheduler::RankResult> results);

 private:
  std::vector<scheduler::RankResult> results_;
  std::size_t told_count_ = 0;  ///< Of results_.
  ReservedFile signalled_;
  ReservedFile evidence_;
};

}  // namespace muster::agent
