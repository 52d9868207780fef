#pragma once
// A client's Submit: what is checked of a job, whether the log takes it now, and the job it
// becomes. Rules over the books.

#include <cstddef>
#include <cstdint>
#include <string>

#include "gossip/base/result.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Words of a command, variables of its environment.
inline constexpr std::size_t kTextsMax = 4096;
inline constexpr std::size_t kTextBytesMax = 256;        ///< Of names, users and types.
inline constexpr std::size_t kDirectoryBytesMax = 4096;  ///< Of paths.

/// Checks what can be checked without a cluster; kInvalid names the first wrong field.
Status validate(const JobSpec& spec);
/// Why the log takes no job like this now, for people; "" = it does.
std::string why_not(const Books& books, const entry::Submit& fact);
/// A key that is remembered gives the job that it was answered with.
/// Takes its spec.
void on_submit(Step& step, entry::Submit& fact);

}  // namespace muster::scheduler
