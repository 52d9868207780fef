#pragma once
// The conditions of a job before its first attempt: how other jobs ended, a time before which it
// does not begin, and a time by which it has to have started.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "gossip/wire/wire.h"

namespace muster::scheduler {

/// Of one job. Each one is a part of the job's record, and is looked at when another job ends.
inline constexpr std::size_t kDependenciesMax = 16;

/// The end of another job that counts.
enum class Ending : std::uint8_t {
  kOk = 0,    ///< It completed; of an array, all tasks did.
  kFail = 1,  ///< It failed or was cancelled; of an array, a task did, and all have ended.
  kAny = 2,   ///< It ended.
};
inline constexpr Ending kEndingLast = Ending::kAny;
/// "ok", "fail", "any".
std::string_view text_of(Ending ending);
/// nullopt if the text is another one.
std::optional<Ending> ending_of(std::string_view text);

/// A job waits until another one ended so.
struct Dependency {
  Ending ending = Ending::kOk;
  JobId job;  ///< A job, a task, or an array with all of its tasks.
  bool operator==(const Dependency&) const = default;
};
/// "ok:7", "any:8.3"
std::string text_of(const Dependency& item);

/// As a Submit asks for it: both times are spans from that entry, in cluster time.
struct Eligibility {
  std::vector<Dependency> after{};  ///< All of them have to be met; at most kDependenciesMax.
  Duration begin{0};                ///< Not tried before; 0 = at once.
  Duration deadline{0};             ///< It fails unless it has started by then; 0 = no deadline.
  bool operator==(const Eligibility&) const = default;
  bool is_none() const { return *this == Eligibility(); }
};
/// kInvalid: too many items, a time that is negative or above a year, or a deadline that is not
/// after the begin.
Status validate(const Eligibility& eligibility);

/// One array: [begin, deadline, ending and job of each item...].
void write(gossip::Encoder& out, const Eligibility& eligibility);
/// Fails the reader at bytes that validate() would refuse.
Eligibility read_eligibility(gossip::Reader& in);

}  // namespace muster::scheduler
