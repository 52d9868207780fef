#pragma once
// Inputs and outputs of GangAgent: facts about supervisors, disk and leader, and the commands that
// the edge obeys. The edge, the relay of renewals and the simulator's processes use these types and
// need nothing else of the machine.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "agent/gang/grant_record.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

struct GangAgentOptions {
  /// Time between two renewals of a hold. Lower: more messages; higher: less of the hold left.
  Duration renew_interval = std::chrono::seconds(5);
  /// Time between two hellos until a reply registers this start.
  Duration hello_retry = std::chrono::seconds(1);
  /// Time to the first repeat of Finish. It doubles up to the maximum, until Finish is
  /// acknowledged.
  Duration finish_retry = std::chrono::seconds(1);
  Duration finish_retry_max = std::chrono::seconds(8);
  /// Ranks that are not gone `grace` + this after Terminate are reported as stuck.
  Duration kill_slack = std::chrono::seconds(5);
  /// Time between two looks at stuck ranks, and to one look after. Each look kills them again and
  /// tells the leader the withheld GPUs. Lower: more hellos of a sick host; higher: a lost message
  /// keeps clean GPUs out of use that long.
  Duration stuck_recheck = std::chrono::seconds(30);
};

/// The offer of the host, with GPUs that are not healthy now: its row keeps new grants off them.
struct Inventory {
  std::string gpu_type;
  std::vector<std::string> gpus;  ///< uuids.
  std::uint32_t cpus = 0;
  std::uint64_t memory_mb = 0;
  bool has_namespaces = true;      ///< Probed at the start, or shown by a supervisor since.
  scheduler::HostTraits traits{};  ///< With the islands of all of its GPUs.
  /// The GPUs can be looked at: after ranks, and at the start, each is withheld until GpusCleaned.
  bool are_watched = false;
  bool operator==(const Inventory&) const = default;
};

/// The identity of this start of the agent.
struct AgentIdentity {
  HostId host;
  AgentStart start;
  std::string boot_id;
  std::string name;
};

// ---- inputs ----

/// A message of the leader: HelloReply, Assign, Start, Stop, FinishAck, RenewAck or GpuOrders.
/// GangAgent drops and counts other types.
struct LeaderMessage {
  HostId from;
  Nonce nonce;  ///< The nonce of the request that it answers.
  scheduler::AgentMessage message;
};
/// First contact with a leader, or with another one. A zero id = no leader is known.
struct LeaderChanged {
  HostId leader;
  Term term;
  /// An agent that a leader has registered greets the next one at some time within this: see
  /// hello_spread().
  Duration spread{0};
};
/// The host obeys another epoch from now on, durably. Grants of an earlier epoch go on. The quorum
/// may not know of them, so that hello tells all of them in detail.
struct EpochObeyed {
  ClusterEpoch epoch;
};
/// The time over which the hosts greet a new leader: about five hundred per second. Each hello is a
/// handshake that takes a millisecond of its CPU on a slow core, and renewals must not wait for it.
constexpr Duration hello_spread(std::size_t hosts) {
  constexpr Duration kOfOne = std::chrono::milliseconds(2);
  return hosts < 256 ? Duration(0) : kOfOne * static_cast<std::int64_t>(hosts);
}
/// This host says goodbye: it accepts no new grant for the rest of this life.
struct LeaveBegun {};
struct Persisted {
  std::uint64_t id = 0;
};
/// A supervisor was found alive at the start. `hold_until` is its own timer.
struct SupervisorAdopted {
  Token token;
  bool launched = false;  ///< False: it is prepared, and no rank was ever started.
  Instant hold_until{};
  gossip::Endpoint master;
};
/// A supervisor was found alive at the start but does not answer. Ranks may run under it.
/// SupervisorAdopted or SupervisorGone may follow at any time.
struct SupervisorSilent {
  Token token;
};
/// A supervisor is dead and every process under it is gone. `results` is its durable evidence.
struct SupervisorGone {
  Token token;
  std::optional<std::vector<scheduler::RankResult>> results;
};
/// The edge has reported every supervisor that it found at the start.
struct SupervisorsScanned {};
/// The answer to Prepare. `master` is set if this host has rank 0.
struct SupervisorPrepared {
  Token token;
  gossip::Endpoint master;
  /// False: ranks that fork away may outlive a killed supervisor, and with it the end of a hold.
  /// GangAgent refuses such a grant unless silence never ends its job.
  bool has_namespace = true;
};
/// Prepare or Launch failed, and no rank runs.
struct LaunchFailed {
  Token token;
  std::string text;
  bool is_refusal = false;  ///< No step failed: ranks of the job's user may not run here.
};
/// Every rank of this host was exec'd.
struct RanksStarted {
  Token token;
};
/// The first failing rank of this host, while others may still run.
struct RankFailedEarly {
  Token token;
  scheduler::RankResult result;
};
/// The namespace is empty and the evidence is durable.
struct AllRanksEnded {
  Token token;
  std::vector<scheduler::RankResult> results;
};
/// Output of a rank is dropped. Reported when that begins, and with the whole count at its end.
struct OutputDropped {
  Token token;
  std::uint32_t rank = 0;
  std::uint64_t lost_bytes = 0;     ///< RankResult::lost_bytes, so far.
  std::uint64_t surplus_bytes = 0;  ///< RankResult::surplus_bytes, so far.
  bool is_whole = false;            ///< The rank has ended.
};
struct InventoryChanged {
  Inventory inventory;
};
/// GPUs that were handed out as GpuToClean have been seen clean. All of one look come together:
/// each change costs a hello.
struct GpusCleaned {
  std::vector<std::string> uuids;
};
/// The GPUs that are not well: they take no new grant. The row of the host says so, too, and the
/// leader reads it late.
struct UnwellGpusChanged {
  std::set<std::string> uuids;
};
/// The reason, for people, that this host can start no grant now; "" = it can.
struct ShortageChanged {
  std::string shortage;
};

using GangAgentInput =
    std::variant<LeaderMessage, LeaderChanged, EpochObeyed, LeaveBegun, Persisted,
                 SupervisorAdopted, SupervisorSilent, SupervisorGone, SupervisorsScanned,
                 SupervisorPrepared, LaunchFailed, RanksStarted, RankFailedEarly, AllRanksEnded,
                 OutputDropped, InventoryChanged, GpusCleaned, UnwellGpusChanged, ShortageChanged>;

// ---- outputs ----

struct AgentSend {
  HostId to;
  Nonce nonce;
  scheduler::AgentMessage message;
};
/// Writes for Environment::kId. They do not count as durable before Persisted{id}.
struct AgentPersist {
  std::uint64_t id = 0;
  crdt::WriteBatch writes;
};
/// Start the supervisor of a token: it makes DATA/grants/<token>, holds MASTER_PORT if asked, and
/// ends by itself if `hold` passes without RenewHold. Idempotent by token. The host resolves `user`
/// by name: LaunchFailed tells that its ranks may not run here.
struct Prepare {
  Token token;
  bool hold_master_port = false;
  Duration hold{0};
  std::string user{};          ///< JobSpec::user.
  scheduler::Member member{};  ///< Of this host: what its ranks are given.
  std::string directory{};     ///< CommandLine::directory.
  JobId job{};
};
/// Start the ranks of `record`'s member of this host. Idempotent by token.
struct Launch {
  GrantRecord record;
  scheduler::Member member;
  gossip::Endpoint master;
  Instant hold_until{};
};
/// Send TERM to every rank, and KILL to all after `grace`. A supervisor without ranks just ends.
struct Terminate {
  Token token;
  Duration grace{0};
  std::string reason;
};
/// Set the supervisor's own timer, which follows the acknowledged renewals.
struct RenewHold {
  Token token;
  Instant hold_until{};
};
/// Forget the evidence; logs stay. Ends a prepared supervisor.
struct Forget {
  Token token;
};
using SupervisorCommand = std::variant<Prepare, Launch, Terminate, RenewHold, Forget>;

/// A GPU that is withheld until it has been seen clean; GpusCleaned answers.
struct GpuToClean {
  std::string uuid;
  Token token;  ///< Of the grant whose ranks had it last; zero = not known.
  bool operator==(const GpuToClean&) const = default;
};

struct GangAgentOutput {
  std::vector<AgentSend> messages;
  std::vector<AgentPersist> persists;
  std::vector<SupervisorCommand> commands;
  std::vector<GpuToClean> to_clean;
  std::vector<Event> events;
  /// If not 0, the quorum refused this start: the agent restarts with this generation. GangAgent is
  /// silent from then on.
  Generation raise_to;
  /// Orders of operators about GPUs of this host that it had not heard before, the oldest first.
  std::vector<scheduler::GpuOrder> gpu_orders;
  /// If not "", the reason, for people, that the quorum refused this start for good. GangAgent is
  /// silent from then on, too.
  std::string ends;
};

/// One line of `muster` for people: a grant and its state.
struct GrantView {
  Token token;
  scheduler::GrantState state = scheduler::GrantState::kReady;
  JobId job;
  std::uint32_t attempt = 1;
  std::vector<scheduler::GpuSlot> gpus;
  Instant hold_until{};
  bool stuck = false;
};

}  // namespace muster::agent
