#pragma once
// Requests of the CLI and the responses of nodes. A request goes to the agent of the CLI's host.
// That node answers from its own replica, or passes the request on (to the node it names, to the
// leader, to a voter, to the host that holds a rank's output) and relays the answer. Bodies are
// positional arrays; new elements are appended at the end.
//
// request  = [verb, consistent, target host id, arguments, user, via, node, access, token,
//             signature]; the last three are there if they or those behind them are not empty
// signature = [number, blob, order]
// response = [status, text, answered by, age_ms, payload]

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/wire/wire.h"
#include "scheduler/protocol/users.h"

namespace muster::agent {

/// The numbers are those of the wire and are never reused. verbs.h describes each verb.
enum class Verb : std::uint8_t {
  kVersion = 0,        ///< -> VersionInfo
  kHosts = 1,          ///< HostsQuery, or nothing for all at once -> HostList
  kQuorum = 2,         ///< -> QuorumInfo
  kEvents = 3,         ///< EventsQuery -> EventsPage
  kLeave = 4,          ///< LeaveArgs -> nothing: the agent leaves and ends
  kSubmit = 5,         ///< SubmitArgs -> JobRef
  kCancel = 6,         ///< JobRun -> JobRef
  kJobs = 7,           ///< JobsQuery, or nothing for the newest -> JobList
  kShow = 8,           ///< JobRef -> JobDetail
  kWhy = 9,            ///< JobRef -> WhyInfo
  kOutput = 10,        ///< OutputQuery -> OutputChunk
  kChangeQuorum = 12,  ///< QuorumWish -> nothing, a text for people
  kRecover = 13,       ///< RecoverArgs -> RecoveryInfo: go on without a majority
  // 11 was the addresses of other nodes. 14 to 19 are kept for the quorum.
  kSuspend = 20,     ///< JobRef -> JobRef
  kResume = 21,      ///< JobRef -> JobRef
  kRequeue = 22,     ///< RequeueArgs -> JobRef
  kFence = 23,       ///< FenceArgs -> nothing
  kWhyHost = 24,     ///< HostRef -> WhyHostInfo
  kHostUses = 25,    ///< HostsQuery -> HostUseList
  kHostDetail = 26,  ///< HostRef -> HostDetail
  kUsage = 27,       ///< UsageQuery -> UsageList
  kDryRun = 28,      ///< SubmitArgs -> WhyInfo: as if it were submitted now
  // 29 is kept for reads.
  kDrain = 30,       ///< DrainArgs -> nothing
  kUndrain = 31,     ///< HostRef -> nothing
  kRemoveHost = 32,  ///< HostRef -> nothing
  kEdit = 33,        ///< EditArgs -> JobRef
  kRevokeHost = 34,  ///< HostRef -> nothing
  kRotateKeys = 35,  ///< RotateArgs -> nothing
  kSetHost = 36,     ///< SetHostArgs -> nothing: change the rights in its record
  // 37 to 39 are kept for orders.
  kFound = 40,        ///< FoundArgs -> TicketMade
  kEnter = 41,        ///< EnterArgs -> nothing
  kJoin = 42,         ///< JoinArgs -> JoinInfo: by ticket alone
  kMakeTicket = 43,   ///< TicketArgs -> TicketMade
  kEndTicket = 44,    ///< TicketRef -> nothing
  kTickets = 45,      ///< -> TicketList
  kKeys = 46,         ///< -> KeysInfo
  kStats = 47,        ///< -> StatsInfo: the counters of that agent
  kWhoami = 48,       ///< -> WhoamiInfo
  kUsers = 49,        ///< UsersQuery, or nothing for the first page -> UserList
  kChangeUsers = 50,  ///< DirectoryArgs -> nothing
  // 51 is kept for signed words.
  kAudit = 52,       ///< AuditQuery, or nothing for the oldest lines -> AuditPage
  kMakeToken = 53,   ///< TokenArgs -> nothing
  kEndToken = 54,    ///< TokenRef -> nothing
  kTokens = 55,      ///< TokensQuery, or nothing for the asker's own -> TokenList
  kResetAdmin = 56,  ///< ResetAdminArgs -> nothing: by root of a voter
  kGpus = 57,        ///< GpusQuery, or nothing for the first page -> GpuList
  kGpuBoard = 58,    ///< -> GpuBoard: the GPUs of that host as it sees them
  kMaskGpu = 59,     ///< GpuOrderArgs -> nothing
  kUnmaskGpu = 60,   ///< GpuOrderArgs -> nothing
  kQueues = 61,      ///< -> QueueList: the tree of queues, and what they hold
  kSetQueues = 62,   ///< SetQueuesArgs -> nothing
  kShares = 63,      ///< SharesQuery, or nothing for all queues -> ShareList
  kCertify = 64,     ///< CertifyArgs -> CertifiedInfo: by the agent of a member for itself
  kHttpRoot = 65,    ///< -> HttpRootInfo: the root certificate of HTTPS
};

/// The number is the exit code of the CLI.
enum class ResponseStatus : std::uint8_t {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kImpossible = 3,
  kDenied = 4,
  kNoQuorum = 5,  ///< It was certainly not done.
  kNotFound = 6,
  kConflict = 7,
  kUnknown = 75,  ///< It may have been done: repeat it under the same key.
};

/// The status by which an agent reports an error to a client.
ResponseStatus status_of(ErrorCode code);

struct Request {
  Verb verb = Verb::kVersion;
  bool consistent = false;  ///< Ask the leader, after a majority round.
  HostId target;            ///< The host with the files (kOutput) or log (kRecover); zero = asked.
  std::string arguments;    ///< One encoded array, or "" for none.
  std::string user;         ///< The user who asks; the host of the login states it. "" = not said.
  std::string via;          ///< Name of the node that the client asked; that node sets it.
  /// Name of the host that answers as if the client had asked it; "" = the node asked. Only the
  /// node asked passes the request on to it.
  std::string node;
  /// The line of an access token (scheduler/access/access_token.h): the client asks in the name of
  /// its user. "" = the client asks as the login. It is a secret.
  std::string access{};
  /// The token of a line that the host which passes the request on has verified; zero = none. A
  /// host that may vouch says so in the place of the line. A client cannot say it.
  scheduler::AccessTokenId token{};
  /// Of the user, for an order that needs it (scheduler/state/signed_order.h). A client learns from
  /// the refusal that one does: its payload is a SignatureWanted.
  std::optional<scheduler::PersonSignature> signature{};
  bool operator==(const Request&) const = default;

  /// The client does not ask as a login.
  bool shows_token() const { return !access.empty() || !token.is_zero(); }
};

struct Response {
  ResponseStatus status = ResponseStatus::kOk;
  std::string text;         ///< One line for a person: an error, or a warning if status is kOk.
  std::string answered_by;  ///< Name of the host whose replica answered.
  /// How old the answer may be; 0 = the leader itself answered. For a list of hosts: the longest
  /// time since a host that this node watches last confirmed that it has no newer row. A watched
  /// host does so in each round of probes.
  std::uint64_t age_ms = 0;
  std::string payload;  ///< One encoded array, or "".
  bool operator==(const Response&) const = default;
};

/// The longest name of a user or node; a request with a longer one is not readable.
inline constexpr std::size_t kAskerNameBytesMax = 256;

std::string encode(const Request& request);
std::string encode(const Response& response);
/// nullopt if the body is not readable.
std::optional<Request> decode_request(gossip::Reader body);
std::optional<Response> decode_response(gossip::Reader body);

}  // namespace muster::agent
