#pragma once
// SeenHosts: this voter's own view of hosts: the gossiped view of each, the storm mode, and the
// quiet voters. Owned by Scheduler. Every voter keeps it, so that the next leader knows it at once.
// It is no part of the state and differs between voters: a leader logs it (Observe) before a
// decision depends on it. Only placement avoids quiet voters without an entry.
//
// Invariant: late voters are among the quiet ones.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "gossip/base/storm_mode.h"
#include "gossip/base/time.h"
#include "scheduler/leader/inputs.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

class SeenHosts {
 public:
  void on_view(Instant now, HostView view);
  void on_storm(StormMode mode) { storm_ = mode; }
  void on_voters_quiet(const input::VotersQuiet& voters);

  /// Null if there was no view of the host yet.
  const HostView* view(const HostId& host) const;
  /// Since when the host is alive, or is not alive. nullopt if there was no view of the host yet.
  std::optional<Instant> since(const HostId& host) const;
  StormMode storm() const { return storm_; }
  /// Voters that do not answer, the late ones among them.
  const std::set<HostId>& quiet() const { return quiet_; }
  bool is_any_late() const { return !late_.empty(); }
  bool is_late(const HostId& host) const { return late_.contains(host); }
  /// True if a host is alive that the log does not know: it may be about to register.
  bool has_unregistered(const State& state) const;
  /// The same of one that came to life later than at `since`.
  bool has_unregistered(const State& state, Instant since) const;
  /// The quiet voters, with the reason for people.
  std::map<HostId, std::string> left_out() const;
  void check_invariants() const;

 private:
  struct Record {
    HostView view;
    Instant since;  ///< Since when it is alive, or is not alive.
  };
  std::map<HostId, Record> views_;
  StormMode storm_ = StormMode::kNormal;
  std::set<HostId> quiet_;
  std::set<HostId> late_;
};

}  // namespace muster::scheduler
