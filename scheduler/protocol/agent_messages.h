#pragma once
// The conversation between the leader and the agents about attempts. Every message from
// the leader is a function of committed state and is idempotent by token: lower refused, equal gets
// the stored answer, higher revokes.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"
#include "gossip/wire/message.h"
#include "scheduler/protocol/host_traits.h"
#include "scheduler/protocol/job.h"
#include "scheduler/protocol/member.h"
#include "scheduler/protocol/member_list.h"

namespace muster::scheduler {

/// What an agent durably knows of a token.
enum class GrantState : std::uint8_t {
  kReady = 0,     ///< Persisted, hold running; nothing launched.
  kStarting = 1,  ///< Persisted before the supervisor execs anything.
  kRunning = 2,
  kStopping = 3,
  kEnded = 4,    ///< Ranks gone, evidence durable, Finish not yet acknowledged.
  kAborted = 5,  ///< Never launched, never will be.
};

/// Of what a grant is a share: all that a quorum must know of it that has lost its Decide.
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
  /// Given for what was launched under an earlier epoch than the one obeyed.
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
  /// False: nothing here surely ends ranks when their supervisor is gone, so this host takes no
  /// work that silence ends (PROTOCOL.md, 5).
  bool has_namespaces = true;
  HostTraits traits{};
  bool operator==(const Hello&) const = default;
};
/// leader -> agent, only by a leader that applied its own-term entry and confirmed leadership.
struct HelloReply {
  StartId start_id;  ///< The start it answers.
  bool registered = false;
  Generation raise_to;         ///< Not 0: the pair is refused, restart with this generation.
  Token floor;                 ///< Highest token granted on this host: lower ones are stale.
  std::vector<Token> kill;     ///< Live at the agent, over in the log.
  std::string why{};           ///< Not registered: what stands against it, for people.
  bool is_name_taken = false;  ///< With why: this start is of no use under its name.
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
/// Counts only with the pair the log binds. The first member's carries the held MASTER_PORT.
struct Ready {
  Token token;
  AgentStart start;
  gossip::Endpoint master;  ///< Address and port; none unless this host has rank 0.
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
  bool last = true;                 ///< False: a first failure, other ranks of this host still run.
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
  /// Those among them for which no Start came yet. Nothing: an older agent, which does not say.
  std::optional<std::vector<Token>> unstarted = {};
  bool operator==(const Renew&) const = default;
};
/// That acks which a relay brings are the leader's word: one signature for all hosts of a rack. The
/// words are opaque here (agent/gang/ack_proof.h).
struct AckProof {
  HostId leader;
  std::string digests;  ///< One after the other, of each ack that was signed.
  std::string signature;
  bool operator==(const AckProof&) const = default;
};
/// The envelope's nonce is the Renew's: the agent counts `hold` from its own send of that nonce.
struct RenewAck {
  std::vector<Token> tokens;  ///< Those renewed; condemned or ended ones are missing.
  AckProof proof{};           ///< Of what a relay brought.
  bool operator==(const RenewAck&) const = default;
};

/// Of one host of a rack, in the hands of the rack's relay: the nonce of its own message.
struct RelayedRenew {
  HostId host;
  Nonce nonce;
  Renew renew;
  bool operator==(const RelayedRenew&) const = default;
};
/// relay -> leader: what hosts of its rack sent it, as they sent it.
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
/// leader -> relay: each goes to its host with the proof, and the host counts from its own send of
/// that nonce. So a relay can lose or delay a renewal, but never lengthen a hold.
struct RelayedAcks {
  std::vector<RelayedAck> acks;  ///< Without proofs of their own.
  AckProof proof{};
  bool operator==(const RelayedAcks&) const = default;
};
/// More are split into several messages.
inline constexpr std::size_t kRelayedMax = 256;

using AgentMessage = std::variant<Hello, HelloReply, Assign, Ready, Refuse, Start, Stop, Finish,
                                  FinishAck, Renew, RenewAck, RelayedRenews, RelayedAcks>;

gossip::MessageType type_of(const AgentMessage& message);
/// A word of the leader to an agent, or to who carries for agents.
bool is_for_agent(gossip::MessageType type);
std::string encode(const AgentMessage& message);
/// Nothing when `type` is none of these or the body does not fit; trailing elements are ignored.
std::optional<AgentMessage> decode_agent_message(gossip::MessageType type, gossip::Reader body);

}  // namespace muster::scheduler
