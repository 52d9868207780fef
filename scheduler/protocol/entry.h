#pragma once
// The entries of the scheduler's log. An entry is a fact or a decision; State::apply
// says what follows from it. On disk and wire: one positional array [kind, version, unix_ms,
// fields...], trailing elements of newer writers are ignored. An unknown kind or version is no
// hostile input but a newer log: the caller stops, because skipping it would make its state differ
// from others'.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gossip/base/result.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/job.h"
#include "scheduler/protocol/roll_entries.h"
#include "scheduler/protocol/subject.h"

namespace muster::scheduler {

/// Numbers are the log's: never reused, never retyped.
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
};

/// The kinds that this version applies, as a number for RaftConfig::level: 1 = up to kExpire, 2 =
/// up to kFence, 3 = up to kAdopt, 4 = up to kRemoveHost and kEdit, 5 = up to
/// kReplaceAuthority.
inline constexpr std::uint64_t kCommandLevel = 5;
/// The least level of a voter that does not stop at an entry of this kind.
constexpr std::uint64_t level_needed(EntryKind kind) {
  if (kind >= EntryKind::kMakeTicket) {
    return 5;
  }
  if (kind >= EntryKind::kDrain || kind == EntryKind::kEdit) {
    return 4;
  }
  return kind >= EntryKind::kAdopt ? 3 : kind >= EntryKind::kSuspend ? 2 : 1;
}

/// 4: a ticket names the host that made it, and a job whose program failed pauses before its next
/// attempt. Entries of earlier versions are not read any more.
inline constexpr std::uint64_t kEntryVersion = 4;
/// Of what hosts say for people; the rest is cut off.
inline constexpr std::size_t kWhyBytesMax = 256;
/// Longer client keys are refused.
inline constexpr std::size_t kClientKeyBytesMax = 128;

/// What the membership says of a host, as far as decisions depend on it.
enum class Verdict : std::uint8_t {
  kAlive = 0,
  kSilent = 1,   ///< No answer.
  kRefused = 2,  ///< The kernel answers, the agent does not ("agent down").
  kLeft = 3,     ///< Left gracefully.
};
/// It did not say that it goes.
constexpr bool is_unreachable(Verdict verdict) {
  return verdict == Verdict::kSilent || verdict == Verdict::kRefused;
}

/// Only healthy hosts get new work. A degraded one keeps what it has: it is slow or gray, and one
/// slow member slows its whole gang. So does a cordoned one: it can start nothing now, and says
/// why.
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
  kRecovered = 6,  ///< Whether it was started went with the quorum that was lost.
  // Stop
  kRankFailed = 10,
  kHostLost = 11,  ///< Silent for too long, or proven to be gone.
  kTimeLimit = 12,
  kPreempted = 13,
  kSuspended = 14,
  kRequeued = 15,
  kAgentDown = 16,  ///< The host answers, and its agent did not come back in time.
  kRanksLost = 17,  ///< They ended without evidence on a host that lives: a killed supervisor.
  // both; a suspend and a requeue abort as well as stop
  kCancelled = 20,
};
/// No program is to blame, and no operator: what its ranks ran on went away.
constexpr bool is_loss(Cause cause) {
  return cause == Cause::kHostLost || cause == Cause::kAgentDown || cause == Cause::kRanksLost;
}
/// "refused", "rank_failed", ...: the form of events and of the CLI.
std::string_view text_of(Cause cause);
std::string_view text_of(Verdict verdict);
std::string_view text_of(JobState state);

namespace entry {

/// A grant that a registering agent still knows (rule 3).
struct LiveGrant {
  Token token;
  bool ended = false;  ///< Its ranks are gone, durable exit evidence exists.
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
  std::vector<std::string> stuck;  ///< Hello::stuck. Replaces what was quarantined.
  bool has_namespaces = true;      ///< Hello::has_namespaces.
  std::vector<Token> adoptable{};  ///< Of `live`: launched, and not known to the leader's log.
  HostTraits traits{};
  bool operator==(const Register&) const = default;
};
struct Submit {
  std::string key;  ///< The client's; a second Submit under it gives the same job.
  JobSpec spec;
  std::string submitted_by;
  bool operator==(const Submit&) const = default;
};
/// A job; an array with all of its tasks; a task, or those from it on through `last`.
struct Cancel {
  JobId job;
  Subject by;
  std::uint32_t last =
      0;  ///< The last task of a run; not above that of `job`: it is that one alone.
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
  std::uint32_t attempt = 0;  ///< Done already once a later one was decided; 0 = the newest.
  Subject by;
  bool operator==(const Requeue&) const = default;
};
/// Quantised: what placement reads of the gossiped view. Replaces the whole earlier Observe.
struct Observe {
  HostId host;
  AgentStart start;  ///< The pair the view speaks of; none (generation 0) = whatever is registered.
  Verdict verdict = Verdict::kAlive;
  Health health = Health::kHealthy;
  std::vector<std::string> unhealthy_gpus;  ///< Sorted.
  std::vector<std::string> quarantined;     ///< Sorted uuids whose old ranks could not be killed.
  std::string shortage{};                   ///< Why it is cordoned, for people.
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
  Duration deadline{0};  ///< Of RESERVED.
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
  bool operator==(const Finish&) const = default;
};
struct Abort {
  Token token;
  Cause cause = Cause::kNone;
  HostId host;        ///< The member that refused or was not ready; zero = none.
  std::string why{};  ///< What it said, for people; at most kWhyBytesMax.
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
  LogIndex condemn;  ///< The Condemn it rests on; void unless exactly that one is in force.
  bool operator==(const Expire&) const = default;
};

/// An operator's word that the host is off: its grants end as if its death were proven, those under
/// isolation `keep` among them. Rejected while the host answers. With `are_processes_gone` the
/// word is about the ranks alone: whoever looked found none, though the kernel answers. Then only
/// `tokens` end, and it is rejected while the agent answers.
struct Fence {
  HostId host;
  Subject by;
  bool are_processes_gone = false;
  std::vector<Token> tokens{};  ///< What the leader knew of the host when the word was said.
  bool operator==(const Fence&) const = default;
};

/// An attempt that was launched under an earlier epoch and of which this log knows nothing: its
/// Decide was lost with the quorum that logged it (PROTOCOL.md, 12). It is taken as STARTED.
struct Adopt {
  HostId host;  ///< Whose agent told of it, as registered with `start`.
  AgentStart start;
  Token token;
  GrantDetail detail;
  bool operator==(const Adopt&) const = default;
};

/// A job that waits gets another place in the queue.
struct Edit {
  JobId job;
  std::int32_t priority = 0;
  Subject by;
  bool operator==(const Edit&) const = default;
};

/// Nothing new is placed on the host. What runs there goes on; `after` says when it is queued
/// again.
struct Drain {
  HostId host;
  Subject by;
  std::string why;
  bool requeues = false;  ///< What is left after `after` is queued again; else it is waited for.
  Duration after{0};      ///< Of cluster time, from this entry on.
  bool operator==(const Drain&) const = default;
};
struct Undrain {
  HostId host;
  Subject by;
  bool operator==(const Undrain&) const = default;
};
/// The host is gone and will not come back. Should it do so all the same, it is known again.
struct RemoveHost {
  HostId host;
  Subject by;
  bool operator==(const RemoveHost&) const = default;
};

}  // namespace entry

using Entry =
    std::variant<entry::Register, entry::Submit, entry::Cancel, entry::Observe, entry::Tick,
                 entry::Decide, entry::Ready, entry::Start, entry::Stop, entry::Finish,
                 entry::Abort, entry::Condemn, entry::Pardon, entry::Expire, entry::Suspend,
                 entry::Resume, entry::Requeue, entry::Fence, entry::Adopt, entry::Edit,
                 entry::Drain, entry::Undrain, entry::RemoveHost, entry::MakeTicket,
                 entry::EndTicket, entry::Enrol, entry::RotateKeys, entry::ReplaceAuthority>;

EntryKind kind_of(const Entry& entry);
/// An entry as it stands in the log.
struct LoggedEntry {
  Entry entry;
  /// What the leader's wall clock showed when it was proposed; 0 = the leader did not know. It is
  /// for people: nothing is decided by it, and it may run backwards from one entry to the next.
  std::int64_t unix_ms = 0;
  bool operator==(const LoggedEntry&) const = default;
};
std::string encode(const Entry& entry, std::int64_t unix_ms = 0);
/// kInvalid: the bytes are no entry, or of a kind or version unknown here. Either way the caller
/// must stop, not skip.
Result<LoggedEntry> decode_entry(std::string bytes);

}  // namespace muster::scheduler
