#pragma once
// What placement knows of the fleet: an index of what is free, one of what the hosts have that are
// up, whoever holds it, and one of all that the hosts have that have not left. They follow from the
// log's state; every voter keeps them beside it, so that a new leader begins with them. A leader
// adds what is not in the log yet: hosts that it bars (bar()), and GPUs, CPUs and memory that it
// asked for (ask()). Owned by Scheduler; pure.
//
// A GPU that several hosts offer is counted for the one with the lowest number that takes work.
//
// Invariant: on_changed() was said of each host whose record changed, on_held() of each of which
// more or less is held, and on_usual() of what is usual; then they say what they would if they had
// begun anew (is_right()).

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

/// What placement is asked for by this job. Its left out hosts are not part of it.
Shape shape_of(const Job& job);
/// The same while its pack is not relaxed.
Shape shape_of(const JobSpec& spec);
/// The same once all that waiting relaxes is relaxed.
Shape relaxed_shape_of(const JobSpec& spec);

/// Hosts on which something became free that are remembered one by one.
inline constexpr std::size_t kGainsMax = 1024;

class Capacity {
 public:
  explicit Capacity(const State& state) { begin_anew(state); }

  /// The state was replaced; nothing is barred or asked for.
  void begin_anew(const State& state);
  void on_changed(const State& state, const HostId& host);
  /// Its record is what it was.
  void on_held(const State& state, const HostId& host);
  /// What is usually asked for is another than before (ApplyResult::usual_changed).
  void on_usual(const State& state) {
    usual_ = state.usual();
    free_.set_usual(usual_);
  }

  /// Hosts on which something became free since this was called last; nothing = too many to tell,
  /// or something else of hosts changed than what is free: all is to be tried again.
  std::optional<std::vector<std::pair<HostKind, HostSpace>>> take_gains();

  // Of a leader.
  /// Nothing is placed on the host from here on, or it is no longer so. Unknown hosts: remembered.
  void bar(const State& state, const HostId& host, bool is_barred);
  /// What was placed is asked for; it is free for nobody until settle().
  void ask(const State& state, JobId job, const Placement& placement);
  void settle(const State& state, JobId job);
  /// Jobs for which something was asked.
  std::vector<JobId> asked() const { return asked_.jobs(); }
  std::size_t asked_count() const { return asked_.size(); }
  /// The leadership is over.
  void forget_leader(const State& state);

  /// Nothing when it does not fit now. All of its GPUs or none, of one type.
  std::optional<Placement> place(const State& state, const Job& job);
  /// How often place() was asked.
  std::uint64_t tried() const { return tried_; }
  /// The most units of a type that the job could get now, without these hosts besides.
  std::uint32_t free_for(const Job& job, const std::string& gpu_type,
                         std::span<const HostId> without);
  /// The most units that fit now on these hosts.
  std::uint32_t free_for(const Shape& shape, const HostChoice& hosts) {
    return free_.most(shape, hosts);
  }
  /// Hosts that the job may get as far as names go, without those it leaves out and `more`.
  HostChoice choice(const Job& job, std::span<const HostId> more) const;
  /// The most units that the hosts which are up have for it, held or not: a job that asks for more
  /// waits for hosts, however many jobs end.
  std::uint32_t live_for(const Job& job);
  bool could_hold(const Job& job) { return live_for(job) >= job.spec.request.units(); }
  /// The most units that all hosts which have not left have for such a job, whatever state they are
  /// in.
  std::uint32_t ever_for(const Shape& shape);
  /// Some host that was met bears the name, or has this id, whole or in short.
  bool knows_host(const std::string& name) const { return !names_.called(name).empty(); }

  // For who explains.
  CapacityIndex copy_of_free() const { return free_.copy(); }
  /// Precondition of these three: it is a host of that state.
  HostNumber number_of(const HostId& host) const { return *names_.number_of(host); }
  /// What is free there; null = nothing is placed there now.
  const HostSpace* free_on(const HostId& host) const { return free_.space(number_of(host)); }
  const HostKind& kind_on(const HostSpace& free) const { return free_.kind_of(free.kind); }
  /// What would be free if these attempts had ended; nothing = nothing is placed there.
  std::optional<HostSpace> free_without(const State& state, const HostId& host,
                                        const std::set<Token>& ended) const;

  /// In O(fleet), for tests; of one host, any number, for every step.
  bool is_right(const State& state) const;
  bool is_right(const State& state, std::uint64_t which) const;

 private:
  Capacity() = default;
  void look(const State& state, HostNumber number);
  void look_at_free(const State& state, HostNumber number);
  bool is_given(HostNumber host, GpuNumber gpu) const;
  /// Places of GPUs in the agent's order.
  std::vector<std::uint32_t> free_gpus(const State& state, HostNumber number) const;
  std::optional<HostSpace> free_space(const State& state, HostNumber number,
                                      const std::set<Token>& ended) const;
  HostChoice choice(const Request& request) const;
  void add_member(const State& state, const Request& request, const HostShare& share,
                  Placement& placement) const;

  CapacityIndex free_;
  CapacityIndex live_;
  CapacityIndex ever_;
  GpuOffers offers_;
  HostNames names_;
  AskedShares asked_;
  std::vector<HostSeat> seats_;  ///< By number.
  Usual usual_;                  ///< By which `free_` packs; for is_right().
  std::set<HostId> barred_;
  std::vector<HostNumber> gained_;
  std::uint64_t tried_ = 0;
  bool is_other_ = true;  ///< More changed than `gained_` says.
};

}  // namespace muster::scheduler
