#pragma once
// The checker of jobs that wait for others or for a time. It judges their conditions by the submit
// that the client sent, the ends of the other jobs, true time and cluster time, not by what the log
// noted of them.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tests/sim/checkers.h"

namespace muster::sim {

/// I15: no job or task is decided before its begin, or while a job that it is to start after has
/// not ended so; none fails by its deadline before that. Spans count from when the client sent the
/// submit, on the fastest clock that a leader may have. Attempts that a recovery adopted are left
/// out, and the times of jobs whose times were edited.
class EligibleOnly : public Checker {
 public:
  explicit EligibleOnly(const SubmitsKept& submits) : submits_(submits) {}
  std::string name() const override { return "eligible_only"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;

 private:
  /// As a host's log has it when it decides the job.
  struct Decided {
    std::string who;  ///< "host 2's log decides job 7"
    JobId whole;      ///< The array of a task, else the job.
    const scheduler::JobWait& wait;
    const SubmitsKept::Submit* submit;  ///< Null if the run did not submit it.
  };

  void note_begin(const scheduler::State& state, JobId id);
  void judge(World& world, const scheduler::State& state, const Decided& decided);
  void judge_conditions(World& world, const scheduler::State& state, const Decided& decided);
  void judge_end(World& world, std::uint32_t host, const Event& event);

  const SubmitsKept& submits_;        ///< Of the same world.
  std::map<JobId, Duration> begins_;  ///< In cluster time, as the log said at the submit.
  std::set<JobId> edited_;            ///< Jobs and arrays with other times than submitted.
};

}  // namespace muster::sim
