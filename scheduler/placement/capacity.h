#pragma once
// The capacity of the fleet, as three indexes: what is free; what hosts that are up have, free or
// held; and what all hosts have that have not left. They follow from the log's state; every voter
// keeps them beside it, so that a new leader begins with them. A leader adds what is not in the log
// yet: hosts that it bars (bar()), and GPUs, CPUs and memory that it asked for (ask()). Owned by
// Scheduler; pure.
//
// A GPU that several hosts offer counts for the one with the lowest number that takes work.
//
// Invariant: if the caller called on_changed() for each host whose record changed, on_held() for
// each of which more or less is held, and on_usual() for new usual requests, then the indexes equal
// those of a Capacity made from the state now (is_right()).

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "scheduler/placement/asked_shares.h"
#include "scheduler/placement/capacity_index.h"
#include "scheduler/placement/gpu_offers.h"
#include "scheduler/placement/host_facts.h"
#include "scheduler/placement/host_names.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

struct Placement {
  std::string type;
  std::vector<Member> members;  ///< In rank order.
  std::vector<GpuNumber> gpus;  ///< Of all members, in that order.
};

/// The shape of a job's request, without the hosts that the job leaves out.
Shape shape_of(const Job& job);
/// The same before its pack is relaxed.
Shape shape_of(const JobSpec& spec);
/// The same after its pack is relaxed.
Shape relaxed_shape_of(const JobSpec& spec);

/// Maximum of hosts with gains that are remembered one by one.
inline constexpr std::size_t kGainsMax = 1024;

class Capacity {
 public:
  explicit Capacity(const State& state) { rebuild(state); }

  /// Starts again with a replaced state; no host is barred and no share is asked for.
  void rebuild(const State& state);
  void on_changed(const State& state, const HostId& host);
  /// More or less is held of the host; its record is the same.
  void on_held(const State& state, const HostId& host);
  /// The usual requests changed (ApplyResult::usual_changed).
  void on_usual(const State& state) {
    usual_ = state.usual();
    free_.set_usual(usual_);
  }

  /// Hosts on which something became free since the last call. nullopt if there are too many, or if
  /// records of hosts changed: then every shape must be tried again.
  std::optional<std::vector<std::pair<HostKind, HostSpace>>> take_gains();

  // Of a leader.
  /// Bars a host from placement, or allows it again. An unknown host is remembered.
  void bar(const State& state, const HostId& host, bool is_barred);
  /// Keeps the shares of the placement for the job until settle().
  void ask(const State& state, JobId job, const Placement& placement);
  void settle(const State& state, JobId job);
  /// Jobs with shares that are not settled.
  std::vector<JobId> asked() const { return asked_.jobs(); }
  std::size_t asked_count() const { return asked_.size(); }
  /// The leadership is over.
  void forget_leader(const State& state);

  // `types`: the folded GPU types that may be used, among those that the job accepts; empty: all. A
  // job that asks for no GPUs may use any host.
  /// All GPUs of the job, of one type, on hosts that are not in `without`; nullopt if it does not
  /// fit now.
  std::optional<Placement> place(const State& state, const Job& job,
                                 std::span<const std::string> types = {},
                                 std::span<const HostNumber> without = {});
  /// How often place() was called.
  std::uint64_t tried() const { return tried_; }
  /// The most units of a type that the job could get now, without the hosts in `without`.
  std::uint32_t free_for(const Job& job, const std::string& gpu_type,
                         std::span<const HostId> without);
  /// The most units that fit now on these hosts.
  std::uint32_t free_for(const Shape& shape, const HostChoice& hosts) {
    return free_.most(shape, hosts);
  }
  /// Hosts that the request names or does not exclude, without those the job leaves out and `more`.
  HostChoice choice(const Job& job, std::span<const HostId> more) const;
  /// The most units that hosts which are up and which the job does not leave out have for it, held
  /// or not. A job that asks for more waits for hosts, however many jobs end.
  std::uint32_t live_for(const Job& job, std::span<const std::string> types = {});
  bool could_hold(const Job& job, std::span<const std::string> types = {}) {
    return live_for(job, types) >= job.spec.request.units();
  }
  /// The folded GPU types of hosts that are known, or were since the last rebuild().
  const std::set<std::string, std::less<>>& gpu_types() const { return gpu_types_; }
  /// The most units that all hosts which have not left have for such a job, in any state.
  std::uint32_t ever_for(const Shape& shape);
  /// Whether a known host has this name or id, whole or in short.
  bool knows_host(const std::string& name) const { return !names_.called(name).empty(); }

  // For explanations (scheduler/why).
  CapacityIndex copy_of_free() const { return free_.copy(); }
  /// Precondition of these three: it is a host of that state.
  HostNumber number_of(const HostId& host) const { return *names_.number_of(host); }
  /// The free space of the host; null if placement does not use the host now.
  const HostSpace* free_on(const HostId& host) const { return free_.space(number_of(host)); }
  const HostKind& kind_on(const HostSpace& free) const { return free_.kind_of(free.kind); }
  /// The space that would be free if these attempts had ended; nullopt if placement does not use
  /// the host now.
  std::optional<HostSpace> free_without(const State& state, const HostId& host,
                                        const std::set<Token>& ended) const;

  /// Checks the invariant. The first is O(fleet), for tests; the second checks the host that
  /// `which`, any number, selects, for every step.
  bool is_right(const State& state) const;
  bool is_right(const State& state, std::uint64_t which) const;

 private:
  Capacity() = default;
  void look(const State& state, HostNumber number);
  void look_at_free(const State& state, HostNumber number);
  bool is_given(HostNumber host, GpuNumber gpu) const;
  /// Indexes of free GPUs in the agent's order.
  std::vector<std::uint32_t> free_gpus(const State& state, HostNumber number) const;
  std::optional<HostSpace> free_space(const State& state, HostNumber number,
                                      const std::set<Token>& ended) const;
  HostChoice choice(const Request& request) const;
  std::optional<Shape> shape_within(const Job& job, std::span<const std::string> types) const;
  void add_member(const State& state, const Request& request, const HostShare& share,
                  Placement& placement) const;

  CapacityIndex free_;
  CapacityIndex live_;
  CapacityIndex ever_;
  GpuOffers offers_;
  HostNames names_;
  AskedShares asked_;
  std::vector<HostSeat> seats_;  ///< By number.
  std::set<std::string, std::less<>> gpu_types_;
  Usual usual_;  ///< The requests by which `free_` packs; for is_right().
  std::set<HostId> barred_;
  std::vector<HostNumber> gained_;
  std::uint64_t tried_ = 0;
  bool is_other_ = true;  ///< More changed than `gained_` says.
};

}  // namespace muster::scheduler
