#pragma once
// Which waiting job is next among those that ask for GPUs of one type, worked out slowly from the
// state of the log and from what a leader asked for since. It shares no code with
// scheduler/policy: the order is written down here once more, and credits alone are believed.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"

namespace muster::sim {

/// The request asks for a number of GPUs and for nothing else: any hosts will do, in any parts.
bool is_plain(const scheduler::Request& request);

class OrderOracle {
 public:
  /// `pool`: a folded GPU type. `asked`: the Decides that the leader wrote and that the log has not
  /// applied, of all pools. All outlive the oracle.
  OrderOracle(const scheduler::State& state, std::string pool,
              const std::vector<scheduler::entry::Decide>& asked);

  /// The job that is next, whether it fits or not; nullptr if no job is.
  const scheduler::Job* next() const { return next_; }
  /// False: a job that is not plain, that leaves hosts out, or one of several users might be next,
  /// of which the oracle does not know all that a leader knows.
  bool is_sure() const { return is_sure_; }
  /// No job waits there that the leader has not asked for.
  bool is_empty() const { return firsts_.empty(); }

  /// GPUs that a plain job gets for certain now, and GPUs that it could get at the very most.
  std::uint64_t fits_surely() const { return fits_surely_; }
  std::uint64_t free_at_most() const { return free_at_most_; }
  /// GPUs of hosts that take work, held or not.
  std::uint64_t usable() const { return usable_; }

 private:
  struct First {
    const scheduler::Job* job = nullptr;
    bool has_several_users = false;
  };
  struct Candidate {
    const scheduler::Job* job = nullptr;
    std::uint64_t charge = 0;
  };

  void count_hosts();
  void count_held();
  void find_firsts();
  void hold(std::string_view queue, const std::string& pool, std::uint64_t charge);
  std::uint64_t charge_of(const scheduler::Member& member) const;
  bool is_asked_for(JobId job) const;
  bool could_start(const scheduler::Job& job, scheduler::QueueNumber queue) const;
  std::uint64_t room(scheduler::QueueNumber queue) const;
  bool is_owed(scheduler::QueueNumber queue, std::uint64_t charge) const;
  bool is_before(scheduler::QueueNumber one, const Candidate& its, scheduler::QueueNumber other,
                 const Candidate& others) const;
  std::optional<Candidate> candidate(scheduler::QueueNumber queue);

  const scheduler::State& state_;
  std::string pool_;
  const std::vector<scheduler::entry::Decide>& asked_;
  std::vector<std::uint64_t> held_;       ///< By queue, of the pool.
  std::vector<std::uint64_t> held_gpus_;  ///< By queue, of all pools of GPUs.
  std::map<scheduler::QueueNumber, First> firsts_;
  const scheduler::Job* next_ = nullptr;
  bool is_sure_ = true;
  std::uint64_t fits_surely_ = 0;
  std::uint64_t free_at_most_ = 0;
  std::uint64_t usable_ = 0;
};

}  // namespace muster::sim
