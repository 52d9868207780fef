#pragma once
// What moves a job from one state to another, with all that goes along: its history, what is told,
// and what is forgotten for it. Rules over the books; job_life.h says which moves there are.

#include <cstdint>
#include <string>

#include "scheduler/state/step.h"

namespace muster::scheduler {

inline constexpr Duration kLeftOutFor = std::chrono::seconds(60);

inline constexpr std::int32_t kExitTimeLimit = 124;
inline constexpr std::int32_t kExitSignalBase = 128;
inline constexpr std::int32_t kExitCancelled = kExitSignalBase + 15;

/// The event moves the job. `cause` is one line for people; `token` is the attempt it is about, or
/// none.
void move_job(Step& step, Job& job, JobEvent event, std::string cause, const Token& token);
/// A new job, which is queued, as `cause` says; its client's key is remembered.
Job& add_job(Step& step, Job job, std::string cause);
/// For good. Precondition: it has not ended.
void end_job(Step& step, Job& job, JobEvent how, std::int32_t code, std::string reason);
/// Jobs that waited long enough for their pack may be placed without it.
void relax_packs(Step& step);
/// It has no attempt any more, and waits for another one.
void queue_again(Step& step, Job& job, const Token& token, std::string cause);

inline constexpr Duration kFirstPause = std::chrono::seconds(1);
inline constexpr Duration kLongestPause = std::chrono::minutes(1);
/// How long a job pauses after the `failures`th failure of its kind: longer from one to the next,
/// so that one that fails at once does not fill the log, the hosts' disks and its history.
Duration pause_after(std::uint32_t failures);
/// As queue_again(), after the pause. A lost host, an order, and an attempt that was aborted have
/// none: the next try is elsewhere, wanted, or leaves the host that it failed on out for a while.
void queue_after_pause(Step& step, Job& job, const Token& token, std::string cause,
                       std::uint32_t failures);
/// Jobs whose pause is over may be tried.
void end_pauses(Step& step);

}  // namespace muster::scheduler
