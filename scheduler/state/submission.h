#pragma once
// Rules for a client's Submit: the checks of a job, whether the log takes it now, and the job that
// it becomes. Rules over the books.

#include <cstddef>
#include <cstdint>
#include <string>

#include "gossip/base/result.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Maximum of words of a command, and of variables of its environment.
inline constexpr std::size_t kTextsMax = 4096;
inline constexpr std::size_t kTextBytesMax = 256;        ///< Of names, users and types.
inline constexpr std::size_t kDirectoryBytesMax = 4096;  ///< Of paths.

/// Checks what can be checked without a cluster; kInvalid names the first wrong field.
Status validate(const JobSpec& spec);
/// Why the log takes no job like this now, for people; "" = it does.
std::string why_not(const Books& books, const entry::Submit& fact);
/// A remembered key gives the job that it was answered with. Moves the spec out of `fact`.
void on_submit(Step& step, entry::Submit& fact);

}  // namespace muster::scheduler
