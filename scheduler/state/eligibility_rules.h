#pragma once
// Rules of jobs and arrays that wait for the end of others or for a time (JobWait). An array waits
// as a whole: no task of it becomes a job before. Rules over the books.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/state/step.h"

namespace muster::scheduler {

/// The reason and the exit code of a job whose deadline passed.
inline constexpr std::string_view kTooLate = "its deadline passed before it started";
inline constexpr std::int32_t kExitTooLate = 124;
/// Maximum of jobs and arrays that one entry settles, about 10 ms of work. The next entry goes on,
/// so that a job that 100,000 wait for stops no voter. Higher: longer entries. Lower: the last of
/// many starts later.
inline constexpr std::size_t kSettledMax = 1'000;

/// The conditions of a job that is submitted now; an item about a job that ended counts already.
/// `unix_ms`: the leader's wall clock now; 0 = not known. kNotFound: an item is about a job that is
/// unknown or forgotten.
Result<JobWait> wait_of(const Books& books, const Eligibility& asked, std::int64_t unix_ms);
/// The conditions after the edit. Precondition: the job or array has not had an attempt.
/// kInvalid: a begin or deadline is out of range, or the deadline is not after the begin.
Result<JobWait> edited_wait(const Books& books, JobWait wait, const entry::Edit& fact,
                            std::int64_t unix_ms);
/// Gives the job or array these conditions.
void set_wait(Step& step, JobId id, JobWait wait);

/// Of a submit of which condition `number`, from 1 on, is about a job that is not known.
Error unknown_error(std::size_t number, const Dependency& item);
/// Why a condition can never be met; "" = all of them still can.
std::string never_of(const Books& books, const JobWait& wait);
/// A job or array was just added: it is cancelled if one of its conditions can never be met.
void begin_wait(Step& step, JobId id);
/// An attempt of the job is bound, whatever it waited for: it was adopted.
void end_wait(Step& step, Job& job);
/// The job has started: its deadline counts no more, nor does that of its array.
void end_deadline(Step& step, const Job& job);

/// Settles arrays, and those that wait: tells them of what ended in this step and of the time.
/// Cancels those with a condition that can never be met, fails those whose deadline passed before
/// they started, and goes on until nothing else follows, or kSettledMax were settled.
void settle_waits(Step& step);

/// "7 succeeded", "8.3 ended": the condition in words, behind "after job".
std::string condition_text(const Dependency& item);
/// How the job of a condition stands now: "queued", "running", ...; "unknown".
std::string standing_text(const Books& books, JobId id);

}  // namespace muster::scheduler
