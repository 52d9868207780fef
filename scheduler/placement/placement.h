#pragma once
// What is free and what is up, counted anew by a walk over all hosts and their GPUs: for explain.h
// and for tests. The leader asks Capacity, which knows without a walk.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/state/state.h"

namespace muster::scheduler {

/// What is free, by type and host.
class FreeGpus {
 public:
  /// Of all hosts that take work, without those in `excluded`. A uuid offered twice counts once,
  /// for the lower host id. O(hosts and their GPUs).
  FreeGpus(const State& state, const std::set<HostId>& excluded);

  struct Host {
    HostId id;
    AgentStart start;
    std::vector<std::string> gpus;
  };
  using ByHost = std::map<HostId, Host>;

  const std::map<std::string, ByHost>& types() const { return types_; }
  /// Hosts that take only jobs which silence never ends.
  const std::set<HostId>& without_namespaces() const { return without_namespaces_; }
  /// Free GPUs of the type that are not on a host in `without`.
  std::uint32_t count(const std::string& type, const std::set<HostId>& without) const;

 private:
  std::map<std::string, ByHost> types_;
  std::set<HostId> without_namespaces_;
};

/// What the hosts have that are up, whether somebody holds it or not: a rule of log state alone. A
/// job that they could not hold however many jobs ended waits for hosts, and lets others pass.
class LiveGpus {
 public:
  /// Of hosts that are registered, reachable, healthy and not drained. O(hosts and their GPUs).
  explicit LiveGpus(const State& state);
  bool could_hold(const JobSpec& spec) const { return largest(spec) >= spec.gpus; }
  /// GPUs of the best type that the job may get.
  std::uint32_t largest(const JobSpec& spec) const;

 private:
  struct Count {
    std::uint32_t all = 0;
    std::uint32_t with_namespaces = 0;
  };
  std::map<std::string, Count> types_;
};

/// The hosts `job` must not get now: those it leaves out, and those that cannot end its ranks.
std::set<HostId> barred_hosts(const FreeGpus& free, const Job& job);

/// The hold of an attempt: the job's own, or the default by the number of hosts.
Duration hold_of(const JobSpec& spec, std::size_t host_count);

inline constexpr Duration kHoldOneHost = std::chrono::minutes(2);
inline constexpr Duration kHoldGang = std::chrono::minutes(10);

}  // namespace muster::scheduler
