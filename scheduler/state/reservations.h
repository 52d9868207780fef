#pragma once
// The life of one attempt: RESERVED -> STARTED -> STOPPING -> ENDED, its table and its rules as one
// transition function. It does not know jobs, queues or holders of GPUs. AttemptBook feeds it the
// facts of the log in order, and attempt_facts.h does what the outcome says. Every row, cause and
// rule outcome is an Edge; tests and the simulator count them, so that none stays unvisited.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gossip/wire/endpoint.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/share_book.h"

namespace muster::scheduler {

enum class AttemptState : std::uint8_t { kReserved = 0, kStarted = 1, kStopping = 2, kEnded = 3 };
std::string_view text_of(AttemptState state);

/// How one host's share of an attempt is over in the log. Anything but kNone frees its GPUs there.
enum class MemberEnd : std::uint8_t {
  kNone = 0,
  kFinished = 1,  ///< Its agent reported the end of every rank.
  kLost = 2,      ///< Proven: a registration did not list it any more; or an operator said so.
  kExpired = 3,   ///< Condemned, and the time ran out.
  kAborted = 4,   ///< The attempt never started.
};

struct MemberRecord {
  Member member;  ///< `member.start` is the pair the log binds; a registration may re-key it.
  bool ready = false;
  MemberEnd end = MemberEnd::kNone;
  LogIndex condemned;               ///< Index of the Condemn in force; 0 = there is no Condemn.
  std::vector<RankResult> results;  ///< In rank order once finished; before that, first failures.
  bool is_fenced = false;           ///< It is kLost because an operator said so, without proof.
  std::uint64_t charge = 0;         ///< charge_of() when it was decided.
  bool operator==(const MemberRecord&) const = default;

  /// The first rank that ended without evidence though its host lives; null if there is no such.
  const RankResult* lost_rank() const;
  bool has_lost_rank() const { return lost_rank() != nullptr; }
  /// Whether every rank of it exited 0 and none had been signalled (rule 5).
  bool succeeded() const;
};

/// One host's share of one attempt, as a key: of a timer, a message to repeat, a Condemn on its
/// way. Keys of one attempt lie side by side.
using MemberKey = std::pair<Token, HostId>;

struct Attempt {
  Token token;
  JobId job;
  std::uint32_t number = 1;  ///< Counts the attempts of its job, from 1.
  AttemptState state = AttemptState::kReserved;
  Cause cause = Cause::kNone;  ///< Why it was aborted or stopped.
  HostId blamed;               ///< The member that refused or was not ready; zero = none.
  bool completed = false;      ///< Ended with success of every rank.
  bool replaced = false;       ///< Its job does not wait for it any more (rule 6).
  bool keep = false;           ///< JobSpec::keep_when_isolated: no Condemn touches it.
  Duration hold{0};
  Duration grace{0};
  Duration deadline{0};
  Duration reserved_at{0};  ///< Cluster time.
  Duration started_at{0};
  /// Cluster time of the first logged failure of a rank by itself.
  std::optional<Duration> failed_at;
  /// Whether one of its hosts had a verdict or was lost since that failure was logged.
  bool lost_host = false;
  gossip::Endpoint master;  ///< From the Ready of the first member.
  std::vector<MemberRecord> members;
  AttemptShare share;  ///< Where the charges of its members count.
  bool operator==(const Attempt&) const = default;

  MemberRecord* find(const HostId& host);
  const MemberRecord* find(const HostId& host) const;
  bool all_ready() const;
  /// Whether it ended before any Start.
  bool was_aborted() const {
    return state == AttemptState::kEnded && !members.empty() &&
           members.front().end == MemberEnd::kAborted;
  }
  /// Number of members that still hold their GPUs.
  std::size_t outstanding() const;
  /// The charges of these members.
  std::uint64_t charge() const;
  /// Whether some rank surely did not exit 0 unsignalled: a *logged* Finish says so, or the member
  /// expired or is proven dead. Else no other attempt of the job may begin (rule 6).
  bool has_failed_member() const;
  /// The first rank that failed by itself, not by our signal or a fault of its host; null if there
  /// is no such rank.
  const RankResult* program_failure() const;
};

/// A fact of the log about one attempt.
namespace fact {
struct Ready {
  HostId host;
  AgentStart start;
  gossip::Endpoint master;
};
struct Start {
  Duration at{0};  ///< Cluster time.
};
struct Stop {
  Cause cause = Cause::kNone;
};
struct Finish {
  HostId host;
  AgentStart start;
  std::vector<RankResult> results;
  bool last = true;
};
struct Abort {
  Cause cause = Cause::kNone;
  HostId host;
};
struct Condemn {
  HostId host;
  LogIndex index;
};
struct Pardon {
  HostId host;
};
struct Expire {
  HostId host;
  LogIndex condemn;
};
/// The host registered a new pair (rules 2, 3, 5).
struct Registered {
  HostId host;
  AgentStart start;
  bool listed = false;    ///< The agent still knows the token, not as aborted.
  bool ended = false;     ///< ... and holds exit evidence of every rank.
  bool rebooted = false;  ///< Another boot id: no rank of it can be alive.
};
/// An operator says that the host is off.
struct Fenced {
  HostId host;
};
}  // namespace fact

using Fact =
    std::variant<fact::Ready, fact::Start, fact::Stop, fact::Finish, fact::Abort, fact::Condemn,
                 fact::Pardon, fact::Expire, fact::Registered, fact::Fenced>;

/// The effect of a fact. In the order of the table in PROTOCOL.md, 2, then of its rules.
enum class Edge : std::uint8_t {
  kReserved,        ///< Decide accepted.
  kDecideRejected,  ///< Decide overlapped, or named an unregistered pair, or a job not queued.
  kReadyCounted,
  kReadyRepeated,
  kReadyOtherPair,  ///< Not the pair the log binds: dropped.
  kReadyLate,       ///< The attempt is past RESERVED.
  kStarted,
  kStartTooEarly,  ///< Not every member is ready: void.
  kStartLate,      ///< Abort was first, or the Start is repeated.
  kAbortedRefused,
  kAbortedDeadline,
  kAbortedCancelled,
  kAbortedCondemned,
  kAbortedRestarted,
  kAbortedSuspended,
  kAbortedRequeued,
  kAbortedPreempted,
  kAbortedFenced,
  kAbortLate,  ///< Start was first.
  kStopRankFailed,
  kStopHostLost,
  kStopCancelled,
  kStopTimeLimit,
  kStopPreempted,
  kStopSuspended,
  kStopRequeued,
  kStopEarly,        ///< From RESERVED: void, an Abort ends it there.
  kStopRepeated,     ///< Already STOPPING: void, the first cause stays.
  kStopEndedAtOnce,  ///< No member was outstanding any more: STOPPING and ENDED in one step.
  kFailureSeen,      ///< A first failure of a member whose other ranks still run.
  kFinishCounted,
  kFinishRepeated,
  kFinishOtherPair,
  kFinishEarly,        ///< From RESERVED: nothing was launched, nothing is believed.
  kFinishAfterExpire,  ///< The member is over by Expire or proof: too late to count.
  kCompletedStarted,
  kCompletedStopping,
  kEndedByFinish,
  kEndedByExpire,
  kEndedByProof,
  kCondemned,
  kCondemnKept,  ///< Isolation `keep`: silence never frees it.
  kPardoned,
  kPardonVoid,  ///< No Condemn in force.
  kExpired,
  kExpireVoid,  ///< Rests on a Condemn that is not in force.
  kRekeyed,
  kProvenLost,
  kFenced,           ///< Lost: an operator said so.
  kIgnoredEnded,     ///< ENDED | anything.
  kIgnoredStranger,  ///< The host is not a member.
};
inline constexpr std::size_t kEdgeCount = static_cast<std::size_t>(Edge::kIgnoredStranger) + 1;
std::string_view text_of(Edge edge);

/// How often each edge was taken. Not part of the replicated state.
class EdgeCounts {
 public:
  void add(Edge edge) { ++counts_[static_cast<std::size_t>(edge)]; }
  std::uint64_t operator[](Edge edge) const { return counts_[static_cast<std::size_t>(edge)]; }
  void merge(const EdgeCounts& other);
  /// Edges never taken, by name.
  std::vector<std::string_view> unreached() const;

 private:
  std::array<std::uint64_t, kEdgeCount> counts_{};
};

struct Outcome {
  Edge edge = Edge::kIgnoredEnded;
  /// A second edge of the same step: the end that the first one caused.
  Edge then = Edge::kIgnoredEnded;
  bool has_then = false;
  std::vector<HostId> freed;  ///< Members whose GPUs this fact frees.
};

/// Applies one fact. Changes `attempt` only as the edge says; a void fact changes nothing.
Outcome transition(Attempt& attempt, const Fact& fact);

}  // namespace muster::scheduler
