#pragma once
// The words between a Node and whoever drives it, the production loop or the simulator: what it is
// made of, what it is told, and what it wants done. None of them touches the world.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/output.h"
#include "agent/api/stats.h"
#include "agent/front/asker.h"
#include "agent/gang/gang_agent.h"
#include "crdt/disk/write_batch.h"
#include "crdt/rows/host_state.h"
#include "crdt/rows/row_check.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/signing.h"
#include "gossip/base/time.h"
#include "gossip/wire/authority_link.h"
#include "gossip/wire/endpoint.h"
#include "gossip/wire/transport.h"
#include "membership/reflex.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

/// What this host proves itself by, and what it knows of its cluster from the start.
struct Credentials {
  /// Of this host's identity; never null in a Node.
  std::shared_ptr<const gossip::Signer> signer{};
  /// Secret, of the links as they were when this host joined (LinkRecord has what came later).
  std::string link_seed;
  /// Never null in a Node.
  std::shared_ptr<const gossip::KeyMaker> key_maker{};
  std::string authority;  ///< The public key of the cluster authority.
  /// The authority itself; null on hosts that may not vote.
  std::shared_ptr<const gossip::Signer> authority_signer{};
  /// The same in secret form, for hosts that come to vote; "" where the signer is null.
  std::string authority_secret{};
  /// How that authority followed others, for hosts that know only those.
  std::vector<gossip::AuthorityLink> authority_links{};
  /// Never null in a Node.
  std::shared_ptr<const gossip::Verifier> verifier{};
  /// This host founds a cluster of so many hosts, and those who hold this ticket's secret are the
  /// others; "" = it does not, or there are no others.
  std::uint64_t founders = 0;
  std::string founding_ticket{};
  /// Records of the roll that do not depend on what state/ held: its own and its contacts'.
  std::vector<std::pair<HostId, crdt::Field>> records;
};

/// In id/: the cluster that this host is a member of.
inline constexpr std::string_view kClusterKey = "cluster";

/// Whom an agent answers, and how long it keeps what he may read.
struct ClientRules {
  Login login{};  ///< Whom it runs as, and so obeys.
  OutputRule output{};
};

/// Where this agent listens, as others dial it, and whom it asks first.
struct NodeAddresses {
  gossip::Endpoint control;
  gossip::Endpoint bulk;
  std::vector<gossip::Endpoint> seeds;
};
/// The offer of this host to jobs, and what it can do.
struct NodeHardware {
  scheduler::HostTraits traits;
  crdt::Capacity capacity;
  bool has_namespaces = true;  ///< Inventory::has_namespaces.
};
/// Limits that tests and the simulator set lower.
struct NodeTuning {
  std::uint64_t compact_entries = scheduler::SeatOptions().compact_entries;
  /// From so many hosts on renewals go through a relay in each rack. Lower: more of them take two
  /// steps and a second longer; higher: a leader with more links, at most so many.
  std::size_t relays_from_hosts = 256;
};

struct NodeOptions {
  HostId self;
  AgentStart start;          ///< The generation is durable before the Node is made.
  std::string name;          ///< Unique in the cluster; a second claimant shows as an alarm.
  std::string boot_id;       ///< Of the kernel: a new one proves that earlier ranks are gone.
  std::int64_t unix_ms = 0;  ///< What the wall clock shows at the start; 0 = not said.
  NodeAddresses addresses{};
  NodeHardware hardware{};
  ClientRules clients{};  ///< Of this host.
  Credentials credentials{};
  NodeTuning tuning{};
};

/// What the disk held at the start.
struct Recovered {
  crdt::Records id;
  crdt::Records raft;
  crdt::Records state;
};

// ---- inputs ----

/// What the supervisors of this host report; GangAgent says what each fact means.
struct SupervisorReport {
  GangAgentInput fact;
};
/// The loop did not run for this long, though it should have: judge nobody for a while.
struct Paused {
  Duration gap{0};
};
/// The user asked this agent to leave.
struct LeaveAsked {};
/// The agent shall end, to be started again later: a leader hands over first, for kHandOverMax.
struct StopAsked {};
/// The wall clock shows something else than it would have if it had gone on as it was.
using WallClockSet = scheduler::input::WallClockSet;
/// Another rule for what is kept of the output here; for people, it is the edge that keeps to it.
struct OutputRuleSet {
  OutputRule rule{};
};
/// A piece of a rank's output, as asked for by ReadOutput.
struct OutputRead {
  std::uint64_t request = 0;
  std::optional<OutputChunk> chunk;  ///< Nothing: no such rank's output here.
  std::string why_not{};             ///< It was here once: why it is not any more.
};

/// The counters that ReadStats asked for.
struct StatsRead {
  std::uint64_t request = 0;
  StatsInfo stats{};
};

/// The rest of RowsToCheck.
using RowsChecked = crdt::RowsChecked;

using NodeInput = std::variant<gossip::Received, gossip::LinkUp, gossip::LinkDown, Persisted,
                               Paused, LeaveAsked, StopAsked, WallClockSet, OutputRuleSet,
                               OutputRead, StatsRead, SupervisorReport, RowsChecked>;

// ---- outputs ----

/// Bytes for the disk. Nothing in them counts before Persisted{id}.
struct Persist {
  std::uint64_t id = 0;  ///< 0 for kState: nobody waits for it.
  crdt::Environment environment = crdt::Environment::kId;
  crdt::WriteBatch writes;
};
/// A piece of a rank's output is to be read; OutputRead answers.
struct ReadOutput {
  std::uint64_t request = 0;
  OutputQuery query;
};
/// The counters of the loop around this node are wanted; StatsRead answers.
struct ReadStats {
  std::uint64_t request = 0;
};

/// What one step came to.
struct NodeOutput {
  std::vector<gossip::TransportOutput> transport;
  std::vector<Persist> persists;
  std::vector<SupervisorCommand> supervisor;
  std::vector<ReadOutput> reads;
  std::vector<ReadStats> stats_reads;
  /// Rows whose signatures are to be looked at; RowsChecked answers, in any order. One that is lost
  /// is made good by the next audit.
  std::vector<crdt::RowsToCheck> checks;
  std::vector<Event> events;
  /// Another one than before: from now on Probes are answered by it (membership/reflex.h).
  std::optional<membership::ReflexView> reflex;
  bool exit = false;     ///< Left; everything due has been sent.
  bool doubled = false;  ///< With exit: another agent lives under this id.
  std::string conflict;  ///< With exit: why the quorum refuses this start, "" = it does not.
  /// Restart with this generation: the disk was restored, or raft/ is to be set aside.
  std::optional<Generation> raise_to;
};

}  // namespace muster::agent
