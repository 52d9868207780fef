#pragma once
// Hosts as the CLI sees them, and the requests about a host.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/api/events.h"
#include "gossip/base/generation.h"
#include "gossip/base/ids.h"

namespace muster::agent {

struct VersionInfo {
  std::string product;
  std::uint64_t protocol = 0;
  std::string host_name;
  HostId host;
  Generation generation;
  ClusterId cluster;  ///< Zero = this node never formed or met a quorum.
  bool operator==(const VersionInfo&) const = default;
};

/// If a host can start no grant now, HostInfo::detail begins with this; ": " and the reason follow.
inline constexpr char kStartsNothing[] = "starts nothing";

struct HostInfo {
  HostId id;
  std::string name;
  std::string state;           ///< "alive", "suspect", "unreachable", "left", "revoked"
  std::string detail;          ///< "silent", "agent down", "", kStartsNothing and why ...
  std::uint64_t since_ms = 0;  ///< Time in this state, as this node saw it.
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
  std::vector<std::string> claimed_by;  ///< Names of the observers that claim that it is gone.
  std::string https;                    ///< Where it answers HTTPS, "IP:PORT"; "" = it does not.
  bool operator==(const HostInfo&) const = default;
};

struct HostsQuery {
  HostId after;  ///< The page begins with the first host above; zero = the first page.
  bool operator==(const HostsQuery&) const = default;
};

/// The storm mode of the answering node: how it explains the hosts that are silent (StormMode).
struct StormInfo {
  std::string mode = "normal";  ///< "normal", "domain", "partial", "partition_suspected"
  std::uint64_t since_ms = 0;
  std::string reason;  ///< "12 of 24 hosts suspect"; "" in "normal".
  bool operator==(const StormInfo&) const = default;
};

/// A seed that the answering node has not met since it started.
struct SeedInfo {
  std::string address;
  /// "silent", "refused", "no known member there", "other cluster", "other version"
  std::string silence;
  bool operator==(const SeedInfo&) const = default;
};

struct HostList {
  std::vector<HostInfo> hosts;  ///< Sorted by name; a page by id.
  HostId next{};  ///< HostsQuery::after of the next page; zero = this is the last page.
  StormInfo storm{};
  std::vector<SeedInfo> seeds_unmet{};
  std::vector<std::string> voter_notes{};  ///< The outlook of each voter that does not answer.
  bool operator==(const HostList&) const = default;
};

struct HostRef {
  HostId host;
  bool operator==(const HostRef&) const = default;
};

/// An observer gets no answer from a host.
struct ClaimInfo {
  std::string observer;  ///< Its name.
  std::string kind;      ///< "silent", "agent_down"
  bool is_weak = false;  ///< Made while the observer itself was cut off: it makes no verdict.
  std::uint64_t age_ms = 0;
  bool operator==(const ClaimInfo&) const = default;
};

/// The evidence for a node's view of a host.
struct WhyHostInfo {
  HostInfo host;
  std::vector<ClaimInfo> claims;
  std::vector<std::string> content;  ///< Names of observers that claim nothing.
  std::uint64_t suspect_from = 0;    ///< Number of claims that make it suspect.
  std::uint64_t verdict_from = 0;    ///< Number of claims, not weak, that make it unreachable.
  StormInfo storm{};
  std::vector<EventInfo> events{};  ///< The newest events of the answering node about it.
  bool operator==(const WhyHostInfo&) const = default;
};

/// An agent takes empty arguments for `force` false.
struct LeaveArgs {
  bool force = false;  ///< Leave even when no majority of live voters remains.
  bool operator==(const LeaveArgs&) const = default;
};

struct FenceArgs {
  HostId host;
  bool are_processes_gone = false;  ///< Only the ranks are gone; the host need not be.
  bool operator==(const FenceArgs&) const = default;
};

struct DrainArgs {
  HostId host;
  std::string why;
  bool requeues = false;       ///< Jobs that still run there after `after_ms` are queued again.
  std::uint64_t after_ms = 0;  ///< In cluster time.
  bool operator==(const DrainArgs&) const = default;
};

/// An operator took the host out of service.
struct DrainInfo {
  std::string by;
  std::string why;
  std::uint64_t since_ms = 0;  ///< How long ago, by the wall clocks of leader and answering voter.
  bool requeues = false;
  std::uint64_t requeue_in_ms = 0;  ///< In cluster time; 0 = it is due, or never comes.
  bool operator==(const DrainInfo&) const = default;
};

/// A host as the log has it: the jobs that use it, and the orders of operators about it.
struct HostUse {
  HostId id;
  std::string name;
  std::string gpu_type;
  std::uint64_t gpus = 0;
  std::uint64_t gpus_used = 0;
  std::uint64_t gpus_free = 0;  ///< GPUs that a new attempt could get now.
  std::uint64_t since_ms = 0;   ///< Time in the state that the log says.
  bool has_left = false;
  bool is_removed = false;  ///< An operator said that it will not come back.
  bool is_drained = false;
  DrainInfo drain{};        ///< Valid if `is_drained`.
  std::vector<JobId> jobs;  ///< Jobs that hold something there.
  // CPUs and memory are given with GPUs or to ranks. Muster counts them and does not enforce them.
  std::uint64_t cpus_used = 0;  ///< Thousandths.
  std::uint64_t memory_mb_used = 0;
  bool is_awaited = false;  ///< Its agent started, and the log does not know this start yet.
  bool operator==(const HostUse&) const = default;
};

struct HostUseList {
  std::vector<HostUse> hosts;  ///< Sorted by id.
  HostId next{};  ///< HostsQuery::after of the next page; zero = this is the last page.
  bool operator==(const HostUseList&) const = default;
};

struct GpuInfo {
  std::string uuid;
  std::string state;  ///< "free", "used", "masked", "unhealthy", "quarantined", ...
  // Set if it is used.
  JobId job;
  std::string job_name;
  std::string user;
  std::uint64_t rank = 0;
  Token token;
  bool operator==(const GpuInfo&) const = default;
};

struct HostDetail {
  HostUse use;
  std::vector<GpuInfo> gpus;  ///< In the agent's order.
  std::vector<std::string> labels;
  std::string spine;                   ///< "" = not known.
  std::vector<std::uint64_t> islands;  ///< The island of each GPU; empty = one island.
  bool may_vote = false;               ///< It may become a voter.
  bool may_vouch = false;              ///< It may vouch for its logins (Openness in verbs.h).
  bool operator==(const HostDetail&) const = default;
};

}  // namespace muster::agent
