#pragma once
// The life of a job as one table: in each state, what each event does. JobBook asks it before every
// change of Job::state and makes no other change. Pure; the attempt below has a table of its own
// (reservations.h).
//
// An operator's word about a job that has an attempt changes no state at once: it is kept as the
// job's order, its attempt is aborted or stopped for it, and the order says what becomes of the job
// when that attempt is over. The last order holds, except that a cancel is never taken back. An
// attempt that completed all the same completes its job, whatever was ordered: its ranks had ended
// before the Stop reached them.
//
// A job that ended never begins again (I7): a requeue of it is refused, and its program has to be
// submitted again as another job, with a history and a client key of its own. Every order may be
// repeated: an order that is carried out already is kDone.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/protocol/job.h"

namespace muster::scheduler {

/// The order of an operator that takes effect once the job's attempt is over.
enum class JobOrder : std::uint8_t { kNone = 0, kSuspend = 1, kRequeue = 2, kCancel = 3 };

enum class JobEvent : std::uint8_t {
  // An operator's order.
  kCancel,
  kSuspend,
  kResume,
  kRequeue,
  // The log about its attempt.
  kSubmitted,   ///< The job's first transition.
  kDecided,     ///< An attempt is reserved for it.
  kStarted,     ///< Start was logged.
  kStopLogged,  ///< Stop was logged.
  // Its attempt is over, or the job need not wait for it.
  kCompleted,  ///< Every rank exited 0, unsignalled.
  kEndCancelled,
  kEndSuspended,
  kQueuedAgain,  ///< Aborted, or to be tried once more.
  kFailed,       ///< For good; also of a job whose deadline passed before it started.
};
inline constexpr std::size_t kJobEventCount = static_cast<std::size_t>(JobEvent::kFailed) + 1;
inline constexpr std::size_t kJobStateCount = static_cast<std::size_t>(JobState::kCancelled) + 1;

enum class JobRule : std::uint8_t {
  kMove,      ///< To JobStep::to, at once.
  kOrder,     ///< Kept as the job's order until its attempt is over.
  kWithdraw,  ///< Takes back the order to suspend, if that is the order.
  kDone,      ///< It is so already: nothing changes.
  kRefused,   ///< Rejected, with a reason for the operator.
  kNever,     ///< The log cannot have this event here.
};

struct JobStep {
  JobRule rule = JobRule::kNever;
  JobState to = JobState::kQueued;  ///< Where the event leads; counts with kMove.
};

/// The table: what `event` does to a job that is `from`, under this order. Total.
JobStep job_step(JobState from, JobOrder order, JobEvent event);
/// Whether some event moves a job from one state to the other.
bool is_job_edge(JobState from, JobState to);
/// Why an operator's order is refused, for people: "job 7 has completed: nothing to suspend".
std::string refusal_text(JobId job, JobState from, JobOrder order, JobEvent event);

std::string_view text_of(JobEvent event);
std::string_view text_of(JobRule rule);

/// How often each cell of the table was used. Not part of the replicated state.
class JobStepCounts {
 public:
  void add(JobState from, JobEvent event) { ++cell(from, event); }
  std::uint64_t operator()(JobState from, JobEvent event) const {
    return const_cast<JobStepCounts*>(this)->cell(from, event);
  }
  void merge(const JobStepCounts& other);
  /// Cells that the table allows and that were never used: "running/suspend".
  std::vector<std::string> unreached() const;

 private:
  std::uint64_t& cell(JobState from, JobEvent event) {
    return counts_[static_cast<std::size_t>(from) * kJobEventCount +
                   static_cast<std::size_t>(event)];
  }
  std::array<std::uint64_t, kJobStateCount * kJobEventCount> counts_{};
};

}  // namespace muster::scheduler
