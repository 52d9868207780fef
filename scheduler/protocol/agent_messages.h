#pragma once
// Messages between the leader and the agents about attempts. Every message of the leader is a
// function of committed state and is idempotent by token: an agent refuses a lower token, answers
// an equal one as before, and revokes its grant for a higher one.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"
#include "gossip/wire/message.h"
#include "scheduler/protocol/gpu_orders.h"
#include "scheduler/protocol/host_traits.h"
#include "scheduler/protocol/job.h"
#include "scheduler/protocol/member.h"
#include "scheduler/protocol/member_list.h"

namespace muster::scheduler {

/// State of a token in the durable record of an agent.
enum class GrantState : std::uint8_t {
  kReady = 0,     ///< Persisted, hold running; nothing launched.
  kStarting = 1,  ///< Persisted before the supervisor execs anything.
  kRunning = 2,
  kStopping = 3,
  kEnded = 4,    ///< Ranks gone, evidence durable, Finish not yet acknowledged.
  kAborted = 5,  ///< Never launched, never will be.
};

/// The attempt that a grant is a share of: a quorum that lost its Decide adopts it from this.
struct GrantDetail {
  JobId job;
  std::uint32_t attempt = 1;
  JobSpec spec;
  std::vector<Member> members;
  Duration hold{0};
  bool operator==(const GrantDetail&) const = default;
};

struct GrantReport {
  Token token;
  GrantState state = GrantState::kReady;
  std::vector<RankResult> results;  ///< Set when kEnded.
  /// Set for a grant that was launched under an earlier epoch than the one that the agent obeys.
  std::optional<GrantDetail> detail;
  bool operator==(const GrantReport&) const = default;
};

/// agent -> leader, on contact, on a new leader, and after a restart. Registers the pair.
struct Hello {
  AgentStart start;
  std::string boot_id;
  std::string name;
  std::string gpu_type;
  std::vector<std::string> gpus;  ///< uuids this host offers (healthy and clean).
  std::uint32_t cpus = 0;
  std::uint64_t memory_mb = 0;
  std::vector<GrantReport> grants;  ///< All that are not forgotten.
  /// Sorted uuids under which ranks of an earlier attempt live on although they were killed: not
  /// offered until they are gone (rule 11).
  std::vector<std::string> stuck;
  /// False: ranks may outlive their supervisor on this host, so it takes no work that silence ends
  /// (PROTOCOL.md, 5).
  bool has_namespaces = true;
  HostTraits traits{};
  bool operator==(const Hello&) const = default;
};
/// leader -> agent. Sent only by a leader that applied an entry of its own term and confirmed that
/// it leads.
struct HelloReply {
  StartId start_id;  ///< The start it answers.
  bool registered = false;
  Generation raise_to;         ///< Not 0: the pair is refused, restart with this generation.
  Token floor;                 ///< Highest token granted on this host: lower ones are stale.
  std::vector<Token> kill;     ///< Live at the agent, over in the log.
  std::string why{};           ///< Not registered: the reason, for people.
  bool is_name_taken = false;  ///< With `why`: this start cannot register under its name.
  bool operator==(const HelloReply&) const = default;
};

struct Assign {
  Token token;
  AgentStart start;
  JobId job;
  std::uint32_t attempt = 1;
  JobSpec spec;
  MemberList members;
  Duration hold{0};
  bool operator==(const Assign&) const = default;
};
/// Counts only with the pair that the log binds. The Ready of the first member carries the
/// MASTER_PORT that it holds.
struct Ready {
  Token token;
  AgentStart start;
  gossip::Endpoint master;  ///< Address and port; empty unless this host has rank 0.
  bool operator==(const Ready&) const = default;
};
struct Refuse {
  Token token;
  AgentStart start;
  std::string reason;  ///< "stale token", "gpu busy", "stuck", "not registered", ...
  bool operator==(const Refuse&) const = default;
};
struct Start {
  Token token;
  AgentStart start;
  gossip::Endpoint master;
  bool operator==(const Start&) const = default;
};
struct Stop {
  Token token;
  AgentStart start;
  Duration grace{0};
  std::string reason;
  bool operator==(const Stop&) const = default;
};
struct Finish {
  Token token;
  AgentStart start;
  std::vector<RankResult> results;  ///< One for each rank of this member, in rank order.
  bool last = true;                 ///< False: a first failure; other ranks of this host still run.
  /// GPUs of this member, sorted, that the agent does not offer before it has seen them clean.
  std::vector<std::string> withheld{};
  bool operator==(const Finish&) const = default;
};
/// The Finish is committed: the agent may forget the evidence.
struct FinishAck {
  Token token;
  bool operator==(const FinishAck&) const = default;
};
struct Renew {
  AgentStart start;
  std::vector<Token> tokens;
  /// The tokens among them for which no Start came yet; nullopt from an older agent.
  std::optional<std::vector<Token>> unstarted = {};
  bool operator==(const Renew&) const = default;
};
/// Proof that the leader sent the acks that a relay brings: one signature for all hosts of a rack.
/// Its bytes are opaque here (agent/gang/relay/ack_proof.h).
struct AckProof {
  HostId leader;
  std::string digests;  ///< Digests of the signed acks, concatenated.
  std::string signature;
  bool operator==(const AckProof&) const = default;
};
/// Its envelope has the nonce of the Renew: the agent counts `hold` from its own send of it.
struct RenewAck {
  std::vector<Token> tokens;  ///< Renewed tokens; condemned and ended ones are missing.
  AckProof proof{};           ///< Set on an ack that a relay brought.
  bool operator==(const RenewAck&) const = default;
};

/// The Renew of one host of a rack, as the rack's relay carries it: with the nonce of that host's
/// own message.
struct RelayedRenew {
  HostId host;
  Nonce nonce;
  Renew renew;
  bool operator==(const RelayedRenew&) const = default;
};
/// relay -> leader: renewals of the hosts of its rack, unchanged.
struct RelayedRenews {
  std::vector<RelayedRenew> renews;  ///< At most kRelayedMax.
  bool operator==(const RelayedRenews&) const = default;
};
struct RelayedAck {
  HostId host;
  Nonce nonce;
  RenewAck ack;
  bool operator==(const RelayedAck&) const = default;
};
/// leader -> relay. The relay sends each ack to its host with the proof, and the host counts from
/// its own send of that nonce: a relay can lose or delay a renewal, but never lengthen a hold.
struct RelayedAcks {
  std::vector<RelayedAck> acks;  ///< Without proofs of their own.
  AckProof proof{};
  bool operator==(const RelayedAcks&) const = default;
};
/// Renewals or acks in one message; a sender splits more of them into several messages.
inline constexpr std::size_t kRelayedMax = 256;

using AgentMessage =
    std::variant<Hello, HelloReply, Assign, Ready, Refuse, Start, Stop, Finish, FinishAck, Renew,
                 RenewAck, RelayedRenews, RelayedAcks, GpuOrders, GpuOrdersAck>;

gossip::MessageType type_of(const AgentMessage& message);
/// Whether the leader sends messages of this type, to an agent or to a relay.
bool is_for_agent(gossip::MessageType type);
std::string encode(const AgentMessage& message);
/// nullopt if `type` is not in AgentMessage or the body does not fit. Ignores trailing elements.
std::optional<AgentMessage> decode_agent_message(gossip::MessageType type, gossip::Reader body);

}  // namespace muster::scheduler
