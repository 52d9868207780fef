#pragma once
// Hosts as the CLI sees them, and what it may ask of one.

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
  ClusterId cluster;  ///< Zero = no quorum was ever formed or met.
  bool operator==(const VersionInfo&) const = default;
};

/// HostInfo::detail of a host that can start no grant now begins with it; ": " and the reason
/// follow.
inline constexpr char kStartsNothing[] = "starts nothing";

struct HostInfo {
  HostId id;
  std::string name;
  std::string state;           ///< "alive", "suspect", "unreachable", "left", "revoked"
  std::string detail;          ///< "silent", "agent down", "", kStartsNothing and why ...
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
  bool operator==(const HostInfo&) const = default;
};

struct HostsQuery {
  HostId after;  ///< The page begins with the first host above; zero = the first page.
  bool operator==(const HostsQuery&) const = default;
};

/// What the silent hosts look like to the answering node (StormMode).
struct StormInfo {
  std::string mode = "normal";  ///< "normal", "domain", "partial", "partition_suspected"
  std::uint64_t since_ms = 0;
  std::string reason;  ///< "12 of 24 hosts suspect"; "" in "normal".
  bool operator==(const StormInfo&) const = default;
};

/// A seed of the answering node that it never met since it started.
struct SeedInfo {
  std::string address;
  /// "silent", "refused", "nobody known there", "other cluster", "other version"
  std::string silence;
  bool operator==(const SeedInfo&) const = default;
};

struct HostList {
  std::vector<HostInfo> hosts;  ///< By name; those of a page by id.
  HostId next{};  ///< Not zero: there are more, to be asked for with this as HostsQuery::after.
  StormInfo storm{};
  std::vector<SeedInfo> seeds_unmet{};
  std::vector<std::string> voter_notes{};  ///< What becomes of voters that do not answer.
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
  bool is_weak = false;  ///< Made while the observer was cut off itself: it makes no verdict.
  std::uint64_t age_ms = 0;
  bool operator==(const ClaimInfo&) const = default;
};

/// What a node's view of a host rests on.
struct WhyHostInfo {
  HostInfo host;
  std::vector<ClaimInfo> claims;
  std::vector<std::string> content;  ///< Names of observers that claim nothing.
  std::uint64_t suspect_from = 0;    ///< So many claims make it suspect,
  std::uint64_t verdict_from = 0;    ///< and so many that are not weak unreachable.
  StormInfo storm{};
  std::vector<EventInfo> events{};  ///< What the answering node noticed of it, the newest ones.
  bool operator==(const WhyHostInfo&) const = default;
};

/// Nothing instead of these: no force.
struct LeaveArgs {
  bool force = false;  ///< Leave even when no majority of live voters remains.
  bool operator==(const LeaveArgs&) const = default;
};

struct FenceArgs {
  HostId host;
  bool are_processes_gone = false;  ///< The word is about its ranks alone, not about the host.
  bool operator==(const FenceArgs&) const = default;
};

struct DrainArgs {
  HostId host;
  std::string why;
  bool requeues = false;       ///< What is left there after `after_ms` is queued again.
  std::uint64_t after_ms = 0;  ///< Of cluster time.
  bool operator==(const DrainArgs&) const = default;
};

/// An operator took the host out of service.
struct DrainInfo {
  std::string by;
  std::string why;
  std::uint64_t since_ms = 0;  ///< How long ago, by the wall clocks of leader and answering voter.
  bool requeues = false;
  std::uint64_t requeue_in_ms = 0;  ///< Of cluster time; 0 = it is due, or never comes.
  bool operator==(const DrainInfo&) const = default;
};

/// What the log says of a host: who uses it, and what operators said of it.
struct HostUse {
  HostId id;
  std::string name;
  std::string gpu_type;
  std::uint64_t gpus = 0;
  std::uint64_t gpus_used = 0;
  std::uint64_t gpus_free = 0;  ///< That a new attempt could get now.
  std::uint64_t since_ms = 0;   ///< How long it has been as the log says.
  bool has_left = false;
  bool is_removed = false;  ///< An operator said that it will not come back.
  bool is_drained = false;
  DrainInfo drain{};        ///< Counts when it is drained.
  std::vector<JobId> jobs;  ///< Which hold something there.
  // Given with GPUs or to ranks, and counted, not enforced.
  std::uint64_t cpus_used = 0;  ///< Thousandths.
  std::uint64_t memory_mb_used = 0;
  bool is_awaited = false;  ///< Its agent started, and the log does not have it as it is now yet.
  bool operator==(const HostUse&) const = default;
};

struct HostUseList {
  std::vector<HostUse> hosts;  ///< By id.
  HostId next{};  ///< Not zero: there are more, to be asked for with this as HostsQuery::after.
  bool operator==(const HostUseList&) const = default;
};

struct GpuInfo {
  std::string uuid;
  std::string state;  ///< "free", "used", "unhealthy", "quarantined", "drained", "withheld"
  // Of a used one.
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
  std::vector<std::uint64_t> islands;  ///< Of each GPU; empty = one island.
  bool may_vote = false;               ///< It may be made a voter.
  bool may_vouch = false;              ///< Its logins may say what they like of the cluster.
  bool operator==(const HostDetail&) const = default;
};

}  // namespace muster::agent
