#pragma once
// Options, inputs and outputs of a Node: the types between it and the loop that drives it, which is
// the production loop or the simulator. They do not touch the world.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/certify.h"
#include "agent/api/output.h"
#include "agent/api/stats.h"
#include "agent/front/asker.h"
#include "agent/gang/gang_agent.h"
#include "agent/health/host_gpus.h"
#include "agent/step/http_signer.h"
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

/// The keys of this host, and its knowledge of its cluster at the start.
struct Credentials {
  /// Signs with the identity of this host; never null in a Node.
  std::shared_ptr<const gossip::Signer> signer{};
  /// The secret of the link keys with which this host joined. LinkRecord has later ones.
  std::string link_seed;
  /// Never null in a Node.
  std::shared_ptr<const gossip::KeyMaker> key_maker{};
  std::string authority;  ///< The public key of the cluster authority.
  /// The authority itself; null on hosts that may not vote.
  std::shared_ptr<const gossip::Signer> authority_signer{};
  /// Its secret key, for hosts that become voters; "" if `authority_signer` is null.
  std::string authority_secret{};
  /// The links from earlier authorities to this one, for hosts that know only an earlier one.
  std::vector<gossip::AuthorityLink> authority_links{};
  /// Never null in a Node.
  std::shared_ptr<const gossip::Verifier> verifier{};
  /// Null: this node signs no certificates of HTTPS.
  std::shared_ptr<const HttpSigner> http_signer{};
  /// The number of founders of this host's cluster, itself included; 0 = it founds none. The other
  /// founders hold the secret of `founding_ticket`; "" = there is only one.
  std::uint64_t founders = 0;
  std::string founding_ticket{};
  /// The login that founded the cluster: the first administrator. "" = this host founds none.
  std::string first_admin{};
  std::string first_admin_key{};  ///< The SSH key line by which that login signs; "" = none.
  /// Records of the roll that do not depend on state/: those of this host and of its contacts.
  std::vector<std::pair<HostId, crdt::Field>> records;
  /// Rows of its contacts from the day of its join (Contact::link_row), not checked yet.
  std::vector<crdt::RowOf> rows{};
};

/// The key in id/ of the cluster that this host is a member of.
inline constexpr std::string_view kClusterKey = "cluster";

/// The login that an agent answers, and how long it keeps output.
struct ClientRules {
  Login login{};  ///< The user that the agent runs as, and therefore obeys.
  OutputRule output{};
};

/// The addresses at which others dial this agent, and the seeds that it asks first.
struct NodeAddresses {
  gossip::Endpoint control;
  gossip::Endpoint bulk;
  std::vector<gossip::Endpoint> seeds;
  gossip::Endpoint https{};  ///< Identity::https
};
/// The hardware of this host: its offer to jobs, and its features.
struct NodeHardware {
  scheduler::HostTraits traits;
  crdt::Capacity capacity;
  bool has_namespaces = true;  ///< Inventory::has_namespaces.
  bool are_watched = false;    ///< Inventory::are_watched.
};
/// Limits that tests and the simulator set lower.
struct NodeTuning {
  std::uint64_t compact_entries = scheduler::SeatOptions().compact_entries;
  /// From this number of hosts on, renewals go through a relay in each rack. With a lower number
  /// more renewals take two steps and a second longer; with a higher one a leader has more links,
  /// at most this many.
  std::size_t relays_from_hosts = 256;
};

struct NodeOptions {
  HostId self;
  AgentStart start;          ///< The generation is durable before the Node is made.
  std::string name;          ///< Unique in the cluster; a second claimant shows as an alarm.
  std::string boot_id;       ///< The kernel's boot: a new one proves that earlier ranks are gone.
  std::int64_t unix_ms = 0;  ///< The wall clock at the start; 0 = not known.
  NodeAddresses addresses{};
  NodeHardware hardware{};
  ClientRules clients{};
  Credentials credentials{};
  std::string http_root{};  ///< The root certificate of HTTPS that it last got; "" = none.
  NodeTuning tuning{};
};

/// The records on the disk at the start.
struct Recovered {
  crdt::Records id;
  crdt::Records raft;
  crdt::Records state;
};

// ---- inputs ----

/// A report of a supervisor of this host. GangAgent says what each fact means.
struct SupervisorReport {
  GangAgentInput fact;
};
/// The loop should have run and did not run for this long: the Node judges no host for a while.
struct Paused {
  Duration gap{0};
};
/// The user asked this agent to leave.
struct LeaveAsked {};
/// The agent ends and starts again later. A leader hands over first, in at most kHandOverMax.
struct StopAsked {};
/// The wall clock was set: it jumped.
using WallClockSet = scheduler::input::WallClockSet;
/// Another rule for the output that this host keeps. The Node only reports it to people; the edge
/// obeys it.
struct OutputRuleSet {
  OutputRule rule{};
};
/// The hardware that this host offers has changed, or was found late. The GPUs that were listed
/// once stay listed, so that grants on them stay valid; `healthy` tells whether they take new ones.
struct HardwareChanged {
  crdt::Capacity capacity;
  scheduler::HostTraits traits;
  bool are_watched = false;  ///< Inventory::are_watched.
};
/// A fact about the GPUs of this host. HostGpus says what each means.
struct GpuFact {
  gpus::Input fact;
};
/// A piece of a rank's output: the answer to ReadOutput.
struct OutputRead {
  std::uint64_t request = 0;
  std::optional<OutputChunk> chunk;  ///< nullopt if this host has no output of that rank.
  std::string why_not{};             ///< The reason if the output was removed.
  OutputOwner owner{};
};

/// The counters of the loop: the answer to ReadStats.
struct StatsRead {
  std::uint64_t request = 0;
  StatsInfo stats{};
};

/// The edge needs a certificate of HTTPS for this host; CertificateAnswer answers, or nothing if no
/// voter can be asked or its answer is lost. Each question takes the place of the one before.
struct CertificateWanted {
  CertifyArgs wish;
};

/// The answer to RowsToCheck.
using RowsChecked = crdt::RowsChecked;

using NodeInput =
    std::variant<gossip::Received, gossip::LinkUp, gossip::LinkDown, Persisted, Paused, LeaveAsked,
                 StopAsked, WallClockSet, OutputRuleSet, OutputRead, StatsRead, SupervisorReport,
                 RowsChecked, HardwareChanged, GpuFact, CertificateWanted>;

// ---- outputs ----

/// Bytes for the disk. They do not count as durable before Persisted{id}.
struct Persist {
  std::uint64_t id = 0;  ///< 0 for kState: no part waits for it.
  crdt::Environment environment = crdt::Environment::kId;
  crdt::WriteBatch writes;
};
/// Asks the edge for a piece of a rank's output; OutputRead answers.
struct ReadOutput {
  std::uint64_t request = 0;
  OutputQuery query;
};
/// Asks for the counters of the loop around this node; StatsRead answers.
struct ReadStats {
  std::uint64_t request = 0;
};

/// The answer to CertificateWanted.
struct CertificateAnswer {
  CertifiedInfo certified;
  std::string why_not;  ///< "" = it is certified.
};

/// The output of one step.
struct NodeOutput {
  std::vector<gossip::TransportOutput> transport;
  std::vector<Persist> persists;
  std::vector<SupervisorCommand> supervisor;
  std::vector<gpus::Command> gpus;
  std::vector<ReadOutput> reads;
  std::vector<ReadStats> stats_reads;
  /// Rows whose signatures the edge checks; RowsChecked answers, in any order. The next audit makes
  /// up for a lost answer.
  std::vector<crdt::RowsToCheck> checks;
  std::vector<Event> events;
  /// A new view: from now on the reflex answers Probes with it (membership/reflex.h).
  std::optional<membership::ReflexView> reflex;
  std::optional<CertificateAnswer> certificate;
  bool exit = false;     ///< The process ends; everything due has been sent.
  bool doubled = false;  ///< With exit: another agent lives under this id.
  std::string conflict;  ///< With exit: why the quorum refuses this start; "" = it does not.
  /// Restart with this generation: the disk was restored, or raft/ has to be set aside.
  std::optional<Generation> raise_to;
};

}  // namespace muster::agent
