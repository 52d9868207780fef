#pragma once
// The entries of the scheduler's log. An entry is a fact or a decision; State::apply() says what
// follows from it. On disk and on the wire an entry is one positional array [kind, version,
// unix_ms, fields...]; a reader ignores trailing elements of newer writers. An unknown kind or
// version means a newer log, not hostile input: the caller stops, because its state would differ
// from that of other voters if it skipped the entry.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gossip/base/result.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/gpu_orders.h"
#include "scheduler/protocol/job.h"
#include "scheduler/protocol/preempt.h"
#include "scheduler/protocol/queues.h"
#include "scheduler/protocol/roll_entries.h"
#include "scheduler/protocol/users.h"

namespace muster::scheduler {

/// Numbers as logged: never reused, and the type of an entry never changes.
enum class EntryKind : std::uint8_t {
  kRegister = 1,
  kSubmit = 2,
  kCancel = 3,
  kEdit = 4,
  kObserve = 5,
  kTick = 6,
  kDecide = 7,
  kReady = 8,
  kStart = 9,
  kStop = 10,
  kFinish = 11,
  kAbort = 12,
  kCondemn = 13,
  kPardon = 14,
  kExpire = 15,
  kSuspend = 16,
  kResume = 17,
  kRequeue = 18,
  kFence = 19,
  kAdopt = 20,
  kDrain = 21,
  kUndrain = 22,
  kRemoveHost = 23,
  kMakeTicket = 24,
  kEndTicket = 25,
  kEnrol = 26,
  kRotateKeys = 27,
  kReplaceAuthority = 28,
  kFoundDirectory = 29,
  kChangeDirectory = 30,
  kNoteRequests = 31,
  kMakeAccessToken = 32,
  kEndAccessToken = 33,
  kResetAdmin = 34,
  kGpuOrder = 35,
  kSetQueues = 36,
  kPreempt = 37,
};

/// The kinds that this version applies, as a number for RaftConfig::level. 1 = up to kExpire, 2 =
/// up to kFence, 3 = up to kAdopt, 4 = up to kRemoveHost and kEdit, 5 = up to kReplaceAuthority, 6
/// = up to kChangeDirectory, 7 = up to kResetAdmin, 8 = up to kGpuOrder, 9 = up to kSetQueues, 10 =
/// a Submit may wait for jobs and times, and an Edit may change these times, 11 = up to kPreempt.
inline constexpr std::uint64_t kCommandLevel = 11;
inline constexpr std::uint64_t kWaitsLevel = 10;
/// The lowest level of a voter that does not stop at an entry of this kind.
constexpr std::uint64_t level_needed(EntryKind kind) {
  if (kind > EntryKind::kSetQueues) {
    return 11;
  }
  if (kind > EntryKind::kGpuOrder) {
    return 9;
  }
  if (kind > EntryKind::kResetAdmin) {
    return 8;
  }
  if (kind > EntryKind::kChangeDirectory) {
    return 7;
  }
  if (kind >= EntryKind::kFoundDirectory) {
    return 6;
  }
  if (kind >= EntryKind::kMakeTicket) {
    return 5;
  }
  if (kind >= EntryKind::kDrain || kind == EntryKind::kEdit) {
    return 4;
  }
  return kind >= EntryKind::kAdopt ? 3 : kind >= EntryKind::kSuspend ? 2 : 1;
}

/// 7: a Submit names a queue and a tier, an Edit more than a priority. The decoder refuses entries
/// of earlier versions.
inline constexpr std::uint64_t kEntryVersion = 7;
/// 8: a Submit that waits for jobs or a time, an Edit of such a time. A voter that knows 7 alone
/// stops there: else it would pass over these fields. All other entries are of version 7.
inline constexpr std::uint64_t kEntryVersionLast = 8;
/// Size of a reason that a host gives for people; a longer one is cut.
inline constexpr std::size_t kWhyBytesMax = 256;
/// Longer client keys are refused.
inline constexpr std::size_t kClientKeyBytesMax = 128;

/// The verdict of the membership about a host, as far as decisions depend on it.
enum class Verdict : std::uint8_t {
  kAlive = 0,
  kSilent = 1,   ///< No answer.
  kRefused = 2,  ///< The kernel answers, the agent does not ("agent down").
  kLeft = 3,     ///< Left gracefully.
};
/// Whether the host is off without having left.
constexpr bool is_unreachable(Verdict verdict) {
  return verdict == Verdict::kSilent || verdict == Verdict::kRefused;
}

/// Only healthy hosts get new work. A degraded host keeps its work: it is slow or gray, and one
/// slow member slows its whole gang. A cordoned host keeps its work, too: it can start nothing now,
/// and says why.
enum class Health : std::uint8_t { kHealthy = 0, kDegraded = 1, kCordoned = 2 };

/// Why an attempt was stopped or aborted.
enum class Cause : std::uint8_t {
  kNone = 0,
  // Abort
  kRefused = 1,    ///< A member said no.
  kDeadline = 2,   ///< Not every member was ready in time.
  kCondemned = 3,  ///< A member's host was condemned.
  kRestarted = 4,  ///< A member's agent came back under another pair.
  kFenced = 5,     ///< An operator said that a member's host is off.
  kRecovered = 6,  ///< Only the lost quorum knew whether it was started.
  // Stop
  kRankFailed = 10,
  kHostLost = 11,  ///< Silent for too long, or proven to be gone.
  kTimeLimit = 12,
  kPreempted = 13,
  kSuspended = 14,
  kRequeued = 15,
  kAgentDown = 16,  ///< The host answers, and its agent did not come back in time.
  kRanksLost = 17,  ///< Ranks ended without evidence on a live host, say by a killed supervisor.
  // Both. A suspend and a requeue abort as well as stop.
  kCancelled = 20,
};
/// Whether the attempt lost a host, an agent or ranks: neither a program nor an operator ended it.
constexpr bool is_loss(Cause cause) {
  return cause == Cause::kHostLost || cause == Cause::kAgentDown || cause == Cause::kRanksLost;
}
/// "refused", "rank_failed", ...: as events and the CLI print it.
std::string_view text_of(Cause cause);
std::string_view text_of(Verdict verdict);
std::string_view text_of(JobState state);

namespace entry {

/// A grant that a registering agent still knows (rule 3).
struct LiveGrant {
  Token token;
  bool ended = false;  ///< Its ranks are gone and durable exit evidence exists.
  bool operator==(const LiveGrant&) const = default;
};

struct Register {
  HostId host;
  AgentStart start;
  std::string boot_id;
  std::string name;
  std::string gpu_type;
  std::vector<std::string> gpus;
  std::uint32_t cpus = 0;
  std::uint64_t memory_mb = 0;
  std::vector<LiveGrant> live;
  std::vector<std::string> stuck;  ///< Hello::stuck. Replaces HostRecord::quarantined.
  bool has_namespaces = true;      ///< Hello::has_namespaces.
  std::vector<Token> adoptable{};  ///< Of `live`: launched, and not known to the leader's log.
  HostTraits traits{};
  bool operator==(const Register&) const = default;
};
struct Submit {
  std::string key;  ///< Chosen by the client; a second Submit under it gives the same job.
  JobSpec spec;
  Subject by;
  bool operator==(const Submit&) const = default;
};
/// Cancels a job, an array with all of its tasks, one task, or the tasks from `job` to `last`.
struct Cancel {
  JobId job;
  Subject by;
  std::uint32_t last =
      0;  ///< The last task of a run; if not above the task of `job`: that task alone.
  bool operator==(const Cancel&) const = default;
};
/// State::apply answers these three as job_life.h says.
struct Suspend {
  JobId job;
  Subject by;
  bool operator==(const Suspend&) const = default;
};
struct Resume {
  JobId job;
  Subject by;
  bool operator==(const Resume&) const = default;
};
struct Requeue {
  JobId job;
  std::uint32_t attempt = 0;  ///< Done already if a later one was decided; 0 = the newest.
  Subject by;
  bool operator==(const Requeue&) const = default;
};
/// The part of the gossiped view that placement reads, quantised. Replaces the whole earlier
/// Observe.
struct Observe {
  HostId host;
  AgentStart start;  ///< The pair that the view is about; generation 0 = the registered pair.
  Verdict verdict = Verdict::kAlive;
  Health health = Health::kHealthy;
  std::vector<std::string> unhealthy_gpus;  ///< Sorted.
  /// Sorted uuids whose old ranks could not be killed. They join HostRecord::quarantined, which a
  /// Register alone makes shorter.
  std::vector<std::string> quarantined;
  std::string shortage{};  ///< Why it is cordoned, for people.
  bool operator==(const Observe&) const = default;
};
/// Adds to the cluster time, which stands still without a leader.
struct Tick {
  Duration elapsed{0};
  bool operator==(const Tick&) const = default;
};
/// Its log index becomes the token.
struct Decide {
  JobId job;
  std::uint32_t attempt = 1;
  std::vector<Member> members;
  Duration hold{0};
  Duration grace{0};
  Duration deadline{0};  ///< Maximum time in RESERVED.
  bool operator==(const Decide&) const = default;
};
struct Ready {
  Token token;
  HostId host;
  AgentStart start;
  gossip::Endpoint master;
  bool operator==(const Ready&) const = default;
};
struct Start {
  Token token;
  bool operator==(const Start&) const = default;
};
struct Stop {
  Token token;
  Cause cause = Cause::kNone;
  bool operator==(const Stop&) const = default;
};
struct Finish {
  Token token;
  HostId host;
  AgentStart start;
  std::vector<RankResult> results;
  bool last = true;
  std::vector<std::string> withheld{};  ///< Of this member. They join HostRecord::quarantined.
  bool operator==(const Finish&) const = default;
};
struct Abort {
  Token token;
  Cause cause = Cause::kNone;
  HostId host;        ///< The member that refused or was not ready; zero = none.
  std::string why{};  ///< Its reason, for people; at most kWhyBytesMax bytes.
  bool operator==(const Abort&) const = default;
};
struct Condemn {
  HostId host;
  std::vector<Token> tokens;
  bool operator==(const Condemn&) const = default;
};
struct Pardon {
  HostId host;
  std::vector<Token> tokens;
  bool operator==(const Pardon&) const = default;
};
struct Expire {
  HostId host;
  Token token;
  LogIndex condemn;  ///< The Condemn that it rests on; void unless that one is in force.
  bool operator==(const Expire&) const = default;
};

/// An operator says that the host is off: its grants end as if its death were proven, also under
/// isolation `keep`. Rejected while the host answers. With `are_processes_gone` the operator says
/// that the ranks alone are gone, though the kernel answers. Then only `tokens` end, and the entry
/// is rejected while the agent answers.
struct Fence {
  HostId host;
  Subject by;
  bool are_processes_gone = false;
  std::vector<Token> tokens{};  ///< Tokens on the host as the leader knew them at that time.
  bool operator==(const Fence&) const = default;
};

/// An attempt that was launched under an earlier epoch and of which this log knows nothing: its
/// Decide was lost with the quorum that logged it (PROTOCOL.md, 12). It is taken as STARTED.
struct Adopt {
  HostId host;  ///< The host whose agent reported it, as registered with `start`.
  AgentStart start;
  Token token;
  GrantDetail detail;
  bool operator==(const Adopt&) const = default;
};

/// Changes a waiting job, and thereby its place. Of a job with an attempt only the time limit
/// changes.
struct Edit {
  JobId job;
  std::int32_t priority = 0;  ///< Not looked at if `keeps_priority`.
  Subject by;
  bool keeps_priority = false;
  std::string queue{};      ///< "" = it stays in its queue.
  Tier tier = Tier::kNone;  ///< kNone = it keeps its tier.
  /// kNoTimeLimit = none; nullopt = it keeps its limit.
  std::optional<Duration> time_limit{};
  bool adds_time = false;  ///< `time_limit` is added to the limit in force.
  // Spans from this entry; 0 = the job has none any more; nullopt = it keeps its own.
  std::optional<Duration> begin{};
  std::optional<Duration> deadline{};
  bool operator==(const Edit&) const = default;

  bool changes_times() const { return begin.has_value() || deadline.has_value(); }
};

/// The leader places nothing new on the host. Attempts there go on; with `requeues` their jobs are
/// queued again after `after`.
struct Drain {
  HostId host;
  Subject by;
  std::string why;
  bool requeues = false;  ///< Jobs left after `after` are queued again; else they run to their end.
  Duration after{0};      ///< Of cluster time, from this entry on.
  bool operator==(const Drain&) const = default;
};
struct Undrain {
  HostId host;
  Subject by;
  bool operator==(const Undrain&) const = default;
};
/// The host is gone for good. If it comes back all the same, it is shown again.
struct RemoveHost {
  HostId host;
  Subject by;
  bool operator==(const RemoveHost&) const = default;
};

}  // namespace entry

using Entry = std::variant<
    entry::Register, entry::Submit, entry::Cancel, entry::Observe, entry::Tick, entry::Decide,
    entry::Ready, entry::Start, entry::Stop, entry::Finish, entry::Abort, entry::Condemn,
    entry::Pardon, entry::Expire, entry::Suspend, entry::Resume, entry::Requeue, entry::Fence,
    entry::Adopt, entry::Edit, entry::Drain, entry::Undrain, entry::RemoveHost, entry::MakeTicket,
    entry::EndTicket, entry::Enrol, entry::RotateKeys, entry::ReplaceAuthority,
    entry::FoundDirectory, entry::ChangeDirectory, entry::MakeAccessToken, entry::EndAccessToken,
    entry::NoteRequests, entry::ResetAdmin, entry::GpuOrder, entry::SetQueues, entry::Preempt>;

EntryKind kind_of(const Entry& entry);
inline std::uint64_t level_of_submit(const JobSpec& spec) {
  return spec.eligibility.is_none() ? level_needed(EntryKind::kSubmit) : kWaitsLevel;
}
/// As that of its kind, or higher for fields that voters of that level would pass over.
std::uint64_t level_needed(const Entry& entry);
/// An entry as it stands in the log.
struct LoggedEntry {
  Entry entry;
  /// The leader's wall clock when it proposed the entry; 0 = the leader did not know. For people
  /// only: no decision depends on it, and it may run backwards from one entry to the next.
  std::int64_t unix_ms = 0;
  bool operator==(const LoggedEntry&) const = default;
};
std::string encode(const Entry& entry, std::int64_t unix_ms = 0);
/// kInvalid if the bytes are not an entry, or of an unknown kind or version. Either way the caller
/// must stop, not skip the entry.
Result<LoggedEntry> decode_entry(std::string bytes);

}  // namespace muster::scheduler
