#pragma once
// Rules that move a job from one state to another, and keep its history, the events and the bytes
// of the state in step. Rules over the books; job_life.h says which moves there are.

#include <cstdint>
#include <string>

#include "scheduler/state/step.h"

namespace muster::scheduler {

inline constexpr Duration kLeftOutFor = std::chrono::seconds(60);

inline constexpr std::int32_t kExitTimeLimit = 124;
inline constexpr std::int32_t kExitSignalBase = 128;
inline constexpr std::int32_t kExitCancelled = kExitSignalBase + 15;

/// Moves the job by the event. `cause` is one line for people; `token` is the attempt that the move
/// is about, or Token().
void move_job(Step& step, Job& job, JobEvent event, std::string cause, const Token& token);
/// Adds a new job, which is queued for `cause`, and remembers its client key.
Job& add_job(Step& step, Job job, std::string cause);
/// Ends the job for good. Precondition: it has not ended.
void end_job(Step& step, Job& job, JobEvent how, std::int32_t code, std::string reason);
/// Lets jobs that waited long enough for their pack be placed without it.
void relax_packs(Step& step);
/// Queues a job whose attempt is over or replaced: it waits for another one.
void queue_again(Step& step, Job& job, const Token& token, std::string cause);

inline constexpr Duration kFirstPause = std::chrono::seconds(1);
inline constexpr Duration kLongestPause = std::chrono::minutes(1);
/// How long a job pauses after the `failures`th failure of its kind. Each pause is longer: else a
/// job that fails at once would fill the log, the disks of hosts and its history.
Duration pause_after(std::uint32_t failures);
/// As queue_again(), after the pause. There is no pause after a lost host, an order or an aborted
/// attempt: the next try is elsewhere, wanted, or leaves out the host that refused.
void queue_after_pause(Step& step, Job& job, const Token& token, std::string cause,
                       std::uint32_t failures);
/// Lets jobs be tried whose pause is over.
void end_pauses(Step& step);

}  // namespace muster::scheduler
