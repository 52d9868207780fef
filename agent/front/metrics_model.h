#pragma once
// The metrics of a node, and of the fleet as its leader knows it. Pure functions; edge_metrics.h
// has those of the loop around the node.
//
// No label names a job, a user, or another host, so that the number of series has a bound: teams,
// queues and GPU types beyond a limit share the value "other".

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/api/rest/metrics_text.h"
#include "gossip/base/ids.h"
#include "gossip/base/storm_mode.h"
#include "membership/member.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// GPUs of this host with series of their own: its first ones.
inline constexpr std::size_t kOwnGpusMetered = 64;
/// Alarms with a series of their own, by name.
inline constexpr std::size_t kAlarmsMetered = 64;
/// The first queues in the order of the tree, of those that hold jobs.
inline constexpr std::size_t kQueuesMetered = 100;
/// The teams that hold most.
inline constexpr std::size_t kTeamsMetered = 100;
/// GPU types in the order of their names.
inline constexpr std::size_t kGpuTypesMetered = 64;
/// The value of a label that stands for all others.
inline constexpr char kOtherMetered[] = "other";

/// The largest number of series of node_families() and edge_families() together. With the 40 of
/// door_families() in agent/edge/run, /metrics has 600.
inline constexpr std::size_t kNodeSeriesMax = 560;
/// The same with leader_families(), in a cluster of any size; /metrics has 5,000.
inline constexpr std::size_t kLeaderSeriesMax = 4960;

/// A GPU of this host, in the order of its agent.
struct OwnGpu {
  std::string health{};      ///< GpuOnBoard::health; "" = not judged.
  bool is_withheld = false;  ///< Not well, not seen clean, or not offered to the leader.
  bool is_held = false;      ///< By a grant that has not ended.
};

/// The quorum as this node sees it.
struct QuorumFacts {
  bool leads = false;
  bool has_leader = false;  ///< It leads, or knows a leader that serves and is reachable.
  bool votes = false;
  Term term{};
  // Of the own log; 0 without a seat.
  LogIndex commit{};
  LogIndex applied{};
  std::uint64_t log_entries = 0;  ///< Behind its snapshot, and those kept before it.
  // Voters.
  std::uint64_t voters = 0;
  std::uint64_t reachable = 0;  ///< That can vote now, this node included.
  std::uint64_t tolerates = 0;  ///< QuorumInfo::tolerates.
};

/// Counts since the agent started.
struct RefusalFacts {
  std::uint64_t messages_gate = 0;    ///< MessageGate::dropped_count().
  std::uint64_t messages_grants = 0;  ///< GangAgent::dropped_count().
  std::uint64_t strangers = 0;        ///< RequestNotes::strangers().
  std::uint64_t notes = 0;            ///< RequestNotes::dropped().
};

struct NodeFacts {
  const std::map<HostId, membership::Member>& members;
  std::string name;        ///< Of this host.
  ClusterId cluster{};     ///< Zero = it has no cluster yet.
  std::uint64_t rows = 0;  ///< Rows that the store holds.
  StormMode storm = StormMode::kNormal;
  std::vector<OwnGpu> gpus{};
  std::map<scheduler::GrantState, std::uint64_t> grants{};  ///< States without a grant may miss.
  bool starts_grants = true;                                ///< GangAgent::shortage() is "".
  QuorumFacts quorum{};
  RefusalFacts refusals{};
  std::map<std::string, std::uint64_t> alarms{};  ///< By name, since the agent started.
};

/// A leader knows this beyond that.
struct FleetFacts {
  const scheduler::State& state;
  std::int64_t now_unix_ms = 0;  ///< The wall clock; 0 = jobs wait in cluster time.
  std::uint64_t left_out = 0;    ///< Size of QuorumSeat::left_out().
};

std::vector<MetricFamily> node_families(const NodeFacts& node);
/// One walk over hosts, jobs, arrays and live attempts. No name is one of node_families().
std::vector<MetricFamily> leader_families(const FleetFacts& fleet);

}  // namespace muster::agent
