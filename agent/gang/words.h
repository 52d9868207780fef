#pragma once
// What GangAgent hears and says: facts about supervisors, disk and leader, and the commands that
// the edge obeys. Words only; what follows from them is gang_agent.h. The edge, the relay of
// renewals and the simulator's processes speak them and need nothing else of the machine.

#include <cstdint>
#include <optional>
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
  /// Between two renewals of the same grants. Lower: more messages; higher: less of the hold left.
  Duration renew_interval = std::chrono::seconds(5);
  /// Between two hellos while no reply registered this start.
  Duration hello_retry = std::chrono::seconds(1);
  /// Finish is repeated after this, doubling up to the maximum, until it is acknowledged.
  Duration finish_retry = std::chrono::seconds(1);
  Duration finish_retry_max = std::chrono::seconds(8);
  /// Ranks not gone `grace` + this after Terminate are reported as stuck.
  Duration kill_slack = std::chrono::seconds(5);
  /// While ranks are stuck, and once after: between two looks at them. Each has them killed again
  /// and tells the leader what is not offered. Lower: more hellos of a sick host; higher: a lost
  /// word keeps clean GPUs out of use that long.
  Duration stuck_recheck = std::chrono::seconds(30);
};

/// What the host offers: healthy and clean GPUs only.
struct Inventory {
  std::string gpu_type;
  std::vector<std::string> gpus;  ///< uuids.
  std::uint32_t cpus = 0;
  std::uint64_t memory_mb = 0;
  bool has_namespaces = true;      ///< As probed at the start, or shown by a supervisor since.
  scheduler::HostTraits traits{};  ///< Islands of all of its GPUs.
  bool operator==(const Inventory&) const = default;
};

/// Who this start of this agent is.
struct AgentIdentity {
  HostId host;
  AgentStart start;
  std::string boot_id;
  std::string name;
};

// ---- inputs ----

/// From whoever leads: HelloReply, Assign, Start, Stop, FinishAck, RenewAck. Others are counted.
struct LeaderMessage {
  HostId from;
  Nonce nonce;  ///< Of the request it answers.
  scheduler::AgentMessage message;
};
/// First contact with a leader, or with another one. A zero id = none is known.
struct LeaderChanged {
  HostId leader;
  Term term;
  /// An agent that a leader has registered already greets the next one at some moment within this:
  /// see hello_spread().
  Duration spread{0};
};
/// Another epoch is obeyed from now on, durably. What was launched under an earlier one goes on;
/// the quorum may not know of it, so that hello says all of it.
struct EpochObeyed {
  ClusterEpoch epoch;
};
/// Of many hosts not all greet a new leader at once: about five hundred a second do. Each is a
/// handshake, a millisecond of its CPU on a slow core, and renewals must not wait behind them.
constexpr Duration hello_spread(std::size_t hosts) {
  constexpr Duration kOfOne = std::chrono::milliseconds(2);
  return hosts < 256 ? Duration(0) : kOfOne * static_cast<std::int64_t>(hosts);
}
/// This host says goodbye: nothing new is accepted for the rest of this life.
struct LeaveBegun {};
struct Persisted {
  std::uint64_t id = 0;
};
/// A supervisor was found alive at start. `hold_until` is its own timer.
struct SupervisorAdopted {
  Token token;
  bool launched = false;  ///< False: prepared, no rank was ever started.
  Instant hold_until{};
  gossip::Endpoint master;
};
/// A supervisor was found alive at start but says nothing. Whether ranks run under it is unknown;
/// SupervisorAdopted or SupervisorGone may follow at any time.
struct SupervisorSilent {
  Token token;
};
/// A supervisor is dead and every process under it is gone. `results` = its durable evidence.
struct SupervisorGone {
  Token token;
  std::optional<std::vector<scheduler::RankResult>> results;
};
/// Everything found at start was reported.
struct SupervisorsScanned {};
/// The answer to Prepare. `master` is set when this host has rank 0.
struct SupervisorPrepared {
  Token token;
  gossip::Endpoint master;
  /// False: ranks that fork away may outlive a killed supervisor, and with it the end of a hold.
  /// Such a grant is refused unless its job is never ended by silence.
  bool has_namespace = true;
};
/// Prepare or Launch did not work and nothing runs.
struct LaunchFailed {
  Token token;
  std::string text;
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
/// Output of a rank is being dropped: told when that begins, and with the whole count at its end.
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
/// Why no grant can be started here now, for people; "" = one can.
struct ShortageChanged {
  std::string shortage;
};

using GangAgentInput =
    std::variant<LeaderMessage, LeaderChanged, EpochObeyed, LeaveBegun, Persisted,
                 SupervisorAdopted, SupervisorSilent, SupervisorGone, SupervisorsScanned,
                 SupervisorPrepared, LaunchFailed, RanksStarted, RankFailedEarly, AllRanksEnded,
                 OutputDropped, InventoryChanged, ShortageChanged>;

// ---- outputs ----

struct AgentSend {
  HostId to;
  Nonce nonce;
  scheduler::AgentMessage message;
};
/// For Environment::kId. Nothing in it counts before Persisted{id}.
struct AgentPersist {
  std::uint64_t id = 0;
  crdt::WriteBatch writes;
};
/// Start the supervisor of a token: it makes DATA/grants/<token>, holds MASTER_PORT when asked, and
/// ends by itself when `hold` passes without RenewHold. Idempotent by token.
struct Prepare {
  Token token;
  bool hold_master_port = false;
  Duration hold{0};
};
/// Start the ranks of `record`'s member of this host. Idempotent by token.
struct Launch {
  GrantRecord record;
  scheduler::Member member;
  gossip::Endpoint master;
  Instant hold_until{};
};
/// TERM to every rank, KILL to everything after `grace`. A supervisor without ranks just ends.
struct Terminate {
  Token token;
  Duration grace{0};
  std::string reason;
};
/// The supervisor's own timer follows the acknowledged renewals.
struct RenewHold {
  Token token;
  Instant hold_until{};
};
/// The evidence is no longer needed; logs stay. Ends a prepared supervisor.
struct Forget {
  Token token;
};
using SupervisorCommand = std::variant<Prepare, Launch, Terminate, RenewHold, Forget>;

struct GangAgentOutput {
  std::vector<AgentSend> messages;
  std::vector<AgentPersist> persists;
  std::vector<SupervisorCommand> commands;
  std::vector<Event> events;
  /// Not 0: the quorum refused this start; restart with this generation. The machine is silent from
  /// then on.
  Generation raise_to;
  /// Not "": why the quorum refused this start for good, for people. Silent from then on, too.
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
