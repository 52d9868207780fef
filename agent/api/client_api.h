#pragma once
// What the CLI asks of a node and what it hears back. A request goes to any node; the node answers
// from its own replica, or passes it on (to the leader, to a voter, to the host that holds a rank's
// output) and relays the answer. Bodies are positional arrays with append-only trailing elements.
//
// request  = [verb, consistent, target host id, arguments, user, via]
// response = [status, text, answered by, age_ms, payload]

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "gossip/wire/wire.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/job.h"
#include "scheduler/protocol/quorum_action.h"

namespace muster::agent {

/// Numbers are the wire's: never reused.
enum class Verb : std::uint8_t {
  kVersion = 0,        ///< -> VersionInfo
  kHosts = 1,          ///< HostsQuery, or nothing for all at once -> HostList; local
  kQuorum = 2,         ///< -> QuorumInfo; any voter, else local
  kEvents = 3,         ///< EventsQuery -> EventsPage; local
  kLeave = 4,          ///< LeaveArgs -> nothing; local: the agent leaves and ends
  kSubmit = 5,         ///< SubmitArgs -> JobRef; leader
  kCancel = 6,         ///< JobRef -> JobRef; leader
  kJobs = 7,           ///< JobsQuery, or nothing for the newest -> JobList; any voter
  kShow = 8,           ///< JobRef -> JobDetail; any voter
  kWhy = 9,            ///< JobRef -> WhyInfo; any voter
  kOutput = 10,        ///< OutputQuery -> OutputChunk; the target host
  kNodes = 11,         ///< -> NodeList; local
  kChangeQuorum = 12,  ///< QuorumWish -> nothing, a text for people; leader
  kRecover = 13,       ///< RecoverArgs -> RecoveryInfo; the target host: go on without a majority
  // 14 to 19 are kept for the quorum.
  kSuspend = 20,  ///< JobRef -> JobRef; leader
  kResume = 21,   ///< JobRef -> JobRef; leader
  kRequeue = 22,  ///< RequeueArgs -> JobRef; leader
  kFence = 23,    ///< FenceArgs -> nothing; leader
};
/// The highest number above: what is beyond is not understood.
inline constexpr Verb kVerbLast = Verb::kFence;
/// It changes something, so that an answer that is lost leaves its outcome unknown.
constexpr bool is_change(Verb verb) {
  return verb == Verb::kSubmit || verb == Verb::kCancel || verb == Verb::kChangeQuorum ||
         verb == Verb::kRecover || verb >= Verb::kSuspend;
}

/// The CLI's exit code is the number.
enum class ResponseStatus : std::uint8_t {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kImpossible = 3,
  kDenied = 4,
  kNoQuorum = 5,  ///< Surely not done.
  kNotFound = 6,
  kConflict = 7,
  kUnknown = 75,  ///< It may have been done: repeat under the same key.
};

struct Request {
  Verb verb = Verb::kVersion;
  bool consistent = false;  ///< Ask the leader, after a majority round.
  HostId target;            ///< kOutput: whose files; kRecover: whose log. Zero = the node asked.
  std::string arguments;    ///< One encoded array, or "" for none.
  std::string user;         ///< Who asks, as the client says; "" = not said.
  std::string via;          ///< Name of the node the client asked; set by it when it passes on.
};

struct Response {
  ResponseStatus status = ResponseStatus::kOk;
  std::string text;         ///< One line for a person when the status is not kOk; a warning else.
  std::string answered_by;  ///< Name of the host whose replica answered.
  /// How old the answer may be; 0 = the leader's own word. Of a host list: since the last word that
  /// nothing newer exists, of the host for which it is oldest. Watched hosts give it each round.
  std::uint64_t age_ms = 0;
  std::string payload;  ///< One encoded array, or "".
};

struct VersionInfo {
  std::string product;
  std::uint64_t protocol = 0;
  std::string host_name;
  HostId host;
  Generation generation;
  ClusterId cluster;  ///< Zero = no quorum was ever formed or met.
};

/// Where a client may go on when the node that it asked is gone.
struct NodeList {
  std::vector<std::string> addresses;  ///< Control ports of live hosts, voters first.
};
/// So many are enough to go on with.
inline constexpr std::size_t kNodesListedMax = 8;

struct HostInfo {
  HostId id;
  std::string name;
  std::string state;           ///< "alive", "suspect", "unreachable", "left"
  std::string detail;          ///< "silent", "agent down", "" ...
  std::uint64_t since_ms = 0;  ///< How long it has been so, as this node saw it.
  Generation generation;
  std::string address;
  std::string rack;
  std::string gpu_type;
  std::uint64_t gpus = 0;
  std::uint64_t gpus_healthy = 0;
  std::uint64_t cpus = 0;
  std::uint64_t memory_mb = 0;
  bool is_voter = false;
  bool is_leader = false;
  std::string version;
  std::vector<std::string> claimed_by;  ///< Names of observers that claim it is gone.
};
struct HostsQuery {
  HostId after;  ///< The page begins with the first host above; zero = the first page.
};
struct HostList {
  std::vector<HostInfo> hosts;  ///< By name; those of a page by id.
  HostId next{};  ///< Not zero: there are more, to be asked for with this as HostsQuery::after.
};

struct VoterInfo {
  HostId id;
  std::string name;
  std::uint64_t match_index = 0;  ///< Durable there, as the leader knows; 0 from a follower.
  std::uint64_t contact_ms = 0;   ///< Since the last word from it.
  std::string state;
  // Of a node without a seat in the quorum: not said.
  bool is_learner = false;  ///< It gets the log and votes once it has caught up.
  std::string rack{};
  std::string why{};         ///< Why it was chosen, or what keeps it from voting; for people.
  std::uint64_t behind = 0;  ///< Entries it lacks, as the leader knows.
  bool is_unheard = false;   ///< It has not answered this leader yet: contact_ms says nothing.
};
struct QuorumInfo {
  ClusterId cluster;
  std::string role;  ///< Of the answering node: "leader", "follower", "candidate", "none".
  Term term;
  HostId leader;
  std::string leader_name;
  LogIndex commit;
  LogIndex applied;
  std::uint64_t tolerates = 0;    ///< Further failures of voters that leave a live majority.
  std::vector<VoterInfo> voters;  ///< Learners behind them.
  std::uint64_t wanted = 0;       ///< So many voters the quorum fills itself up to; 0 = not said.
  std::uint64_t epoch = 0;        ///< 1 = it was never recovered; 0 = not said.
};

struct EventsQuery {
  std::uint64_t after = 0;  ///< Sequence number; 0 = from the oldest kept.
};
struct EventInfo {
  std::uint64_t sequence = 0;
  std::uint64_t age_ms = 0;
  std::string severity;
  std::string text;
};
struct EventsPage {
  std::vector<EventInfo> events;
  std::uint64_t lost = 0;  ///< Events between `after` and the oldest kept.
};

/// Nothing instead of these: no force.
struct LeaveArgs {
  bool force = false;  ///< Leave even when no majority of live voters remains.
};

struct SubmitArgs {
  std::string key;  ///< Made by the client before its first try: 32 hex digits.
  scheduler::JobSpec spec;
};
struct JobRef {
  JobId job;
};
struct RequeueArgs {
  JobId job;
  /// The attempt that is to make way: repeated after a later one was decided, this does nothing.
  /// 0 = whichever is the newest.
  std::uint64_t attempt = 0;
};
using scheduler::QuorumAction;
struct QuorumWish {
  QuorumAction action = QuorumAction::kAdd;
  HostId host;
};
struct FenceArgs {
  HostId host;
};
struct RecoverArgs {
  bool is_order = false;  ///< False: only say what there is.
  Term term;              ///< With an order, the end of the log as it was seen.
  LogIndex index;
};
/// What a quorum could go on from at the host that answers.
struct RecoveryInfo {
  HostId host;
  std::string host_name;
  bool has_log = false;
  std::uint64_t epoch = 0;
  Term term;
  LogIndex last;
  LogIndex commit;            ///< Known to be committed up to here.
  std::uint64_t live = 0;     ///< Voters that it takes for alive, itself among them, of
  std::uint64_t voters = 0;   ///< so many.
  std::uint64_t idle_ms = 0;  ///< Since it heard a leader.
};

struct JobSummary {
  JobId id;
  std::string name;
  std::string user;
  std::string state;
  std::uint64_t gpus = 0;
  std::string gpu_type;
  std::uint64_t attempt = 0;
  std::int64_t priority = 0;
  std::int64_t exit_code = 0;      ///< Of an ended job, as `submit --wait` exits.
  std::string cause;               ///< Of the last transition.
  std::vector<std::string> hosts;  ///< Names, of the attempt in force.
};
struct JobsQuery {
  JobId after;  ///< The page begins with the first job above; 0 = the first page.
};
struct JobList {
  std::vector<JobSummary> jobs;  ///< By id.
  JobId next;  ///< Not 0: there are more, to be asked for with this as JobsQuery::after.
};

struct RankInfo {
  std::uint64_t rank = 0;
  std::string state;  ///< "running", "exited 0", "killed by 9", "never ran", "lost", ...
  std::string detail;
  std::uint64_t output_bytes = 0;  ///< What an ended rank wrote; 0 from a node that does not say.
};
struct MemberInfo {
  HostId host;
  std::string host_name;
  std::uint64_t first_rank = 0;
  std::vector<std::string> gpus;
  std::string state;  ///< "assigned", "ready", "finished", "expired", ...
  std::vector<RankInfo> ranks;
  // As the answering node sees the host; "" from a node that does not say.
  std::string host_state;           ///< HostInfo::state
  std::string host_detail;          ///< HostInfo::detail
  std::uint64_t host_since_ms = 0;  ///< How long it has been so.
};
struct AttemptInfo {
  std::uint64_t number = 0;
  Token token;
  std::string state;  ///< "reserved", "started", "stopping", "ended"
  std::string cause;
  std::vector<MemberInfo> members;
  /// So many more, the last ones, did not fit into the answer: those of old attempts go first.
  std::uint64_t members_left_out = 0;
};
struct TransitionInfo {
  LogIndex index;
  std::uint64_t cluster_ms = 0;  ///< Cluster time: stands still without a leader.
  std::string state;
  std::string cause;
};
struct JobDetail {
  JobSummary summary;
  scheduler::JobSpec spec;
  std::vector<AttemptInfo> attempts;
  std::vector<TransitionInfo> transitions;
};

struct HolderInfo {
  JobId job;
  std::string name;
  std::uint64_t gpus = 0;
  std::vector<std::string> hosts;
};
struct WithheldInfo {
  std::string reason;  ///< "quarantined", "unhealthy", "host suspect", "host cordoned", ...
  std::uint64_t gpus = 0;
};
struct WhyInfo {
  JobId job;
  std::string state;
  std::string headline;      ///< One sentence: the answer.
  std::uint64_t wanted = 0;  ///< GPUs asked for.
  std::uint64_t free = 0;    ///< Usable and free now for this job.
  std::uint64_t lacking = 0;
  std::vector<JobId> ahead;         ///< Jobs that go first.
  std::vector<HolderInfo> holders;  ///< Who has GPUs it could use, most first.
  std::vector<JobId> would_start;   ///< Smallest set of jobs whose end starts it now.
  std::uint64_t fits_now = 0;       ///< Largest size of it that would start now.
  // From a node that says so; the two fields above are then empty unless it is first in the queue.
  std::uint64_t ahead_count = 0;         ///< All that go first: `ahead` is the first of them.
  std::vector<std::string> left_out{};   ///< Hosts that refused it or were late.
  std::vector<WithheldInfo> withheld{};  ///< GPUs of its type that no end of a job frees for it.
  bool awaits_hosts = false;             ///< After a recovery the queue waits for hosts.
  std::uint64_t holders_more = 0;        ///< Not listed; none has more GPUs than those that are.
};

struct OutputQuery {
  Token token;
  std::uint64_t rank = 0;
  std::uint64_t offset = 0;
};
struct OutputChunk {
  std::string bytes;       ///< At most kOutputBytesMax.
  std::uint64_t size = 0;  ///< Of the whole output at the moment.
  bool ended = false;      ///< The rank is gone: no more will come behind `size`.
};
inline constexpr std::size_t kOutputBytesMax = 256 * 1024;

/// Longest user and node name that a request carries; longer ones make it unreadable.
inline constexpr std::size_t kAskerNameBytesMax = 256;

std::string encode(const Request& request);
std::string encode(const Response& response);
std::optional<Request> decode_request(gossip::Reader body);
std::optional<Response> decode_response(gossip::Reader body);

/// Any struct above that is a request's arguments or a response's payload.
template <class T>
std::string encode_payload(const T& value);
/// Nothing when the bytes do not fit; newer trailing elements are ignored.
template <class T>
std::optional<T> decode_payload(std::string bytes);

}  // namespace muster::agent
