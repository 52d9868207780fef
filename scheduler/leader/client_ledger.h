#pragma once
// ClientLedger: the requests of clients that wait for this leader: submits and operators' orders on
// their way through the log. Owned by Leader. A request is answered when its entry is applied, or
// at once if it is refused or its key has a job already. The log knows no requests: those that wait
// when the leadership ends get kUnknown, and the client asks again under its key.
//
// Beyond its pace (change_pace.h) a user's change, or a submit to a queue, is refused, and the
// answer tells when to repeat it; so is a submit to a queue where as many jobs wait as its
// max_pending allows, with those that are on their way.
//
// Spans until a begin or a deadline count from their proposal: they are given to the log with the
// time that cluster time lacks then (cluster_clock.h).
//
// Invariants: each request that was taken is answered once; no more than kRequestsMax wait, and
// their submits weigh no more than kSubmitBytesMax.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/time.h"
#include "scheduler/access/change_pace.h"
#include "scheduler/leader/cluster_clock.h"
#include "scheduler/leader/inputs.h"
#include "scheduler/leader/outputs.h"
#include "scheduler/leader/proposals.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"
#include "scheduler/state/waiting_book.h"

namespace muster::scheduler {

inline constexpr std::size_t kRequestsMax = 20'000;  ///< Later ones are kUnavailable.
/// Bytes of submits that are not applied yet; later ones are kUnavailable.
inline constexpr std::size_t kSubmitBytesMax = 8 << 20;
/// Time after a leader took over, and after a host came to life, in which a job may lack a host
/// that is alive and not registered yet. Lower: in a cluster that has just formed, or beside a host
/// that has just joined, jobs count as impossible. Higher: impossible jobs are told later.
inline constexpr Duration kRegistrationWait = std::chrono::seconds(10);

/// Why an order is not taken.
inline constexpr std::string_view kNoOrdersNow =
    "this node does not lead the quorum, or is overloaded";

class ClientLedger {
 public:
  /// `now`: when this leader was ready.
  explicit ClientLedger(Instant now) : ready_since_(now) {}

  /// A key is one job: a second submit under it waits with the first, or gets the same answer.
  void on_submit(const StepContext& step, Proposals& proposals, ClusterClock& clock,
                 input::ClientSubmit& fact);
  /// Orders of one name wait in the order in which they were said.
  void on_order(const StepContext& step, Proposals& proposals, ClusterClock& clock,
                input::ClientOrder& fact);
  /// An entry was applied: the requests that wait for it are answered.
  void on_applied(const Entry& entry, const ApplyResult& result, SchedulerOutput& output);
  /// The leadership is over: all that wait are answered.
  void give_up(SchedulerOutput& output);
  void check_invariants() const;

 private:
  struct PendingSubmit {
    JobSpec spec;       ///< With the times of the client, which count from each proposal.
    std::string queue;  ///< Where it is counted in `under_way_`.
    std::size_t bytes = 0;
    std::vector<std::uint64_t> requests;
    bool is_twice = false;  ///< It was proposed again: the log may hold it twice.
  };

  std::string why_not_under(const State& state, const std::string& key, const JobSpec& spec) const;
  std::string why_impossible(const StepContext& step, const JobSpec& spec) const;
  void join(const StepContext& step, Proposals& proposals, ClusterClock& clock, PendingSubmit& same,
            input::ClientSubmit& fact);
  bool has_room(const StepContext& step, const input::ClientSubmit& fact,
                const std::string& queue) const;
  void propose(const StepContext& step, Proposals& proposals, ClusterClock& clock,
               input::ClientSubmit& fact, const std::string& queue);
  bool is_in_time(const StepContext& step, std::uint64_t request, const Subject& by,
                  const std::string& queue);

  Instant ready_since_;
  std::map<std::string, PendingSubmit> submits_;  ///< By key, on their way through the log.
  std::size_t submit_bytes_ = 0;                  ///< Of these.
  QueueTotals under_way_;                         ///< Jobs of these, by queue.
  std::map<ProposalName, std::deque<std::uint64_t>> orders_;  ///< Their requests.
  std::size_t request_count_ = 0;                             ///< Of both.
  ChangePace pace_;
};

}  // namespace muster::scheduler
