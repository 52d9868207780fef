#pragma once
// RoomMaker carries out the plan of a grant's room, in the process of its supervisor. The present
// directory is that of the grant. The sources of binds are opened before the first step: by then no
// new file system covers them yet. A directory that is shown because the ranks start there is
// opened as their user, so that nobody sees one through the supervisor that is closed to them.
//
// Precondition of mounts: the process has a mount namespace of its own, with /proc of its PID
// namespace.

#include <optional>
#include <vector>

#include "agent/edge/grant/rank_user.h"
#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/isolation/shown_folder.h"
#include "agent/isolation/room_plan.h"
#include "gossip/base/result.h"

namespace muster::agent {

class RoomMaker {
 public:
  /// `has_own_mounts`: the precondition of mounts holds. Without it a plan with mounts fails before
  /// its first step, for they would change the host itself.
  explicit RoomMaker(bool has_own_mounts) : has_own_mounts_(has_own_mounts) {}

  /// To be called once. `identity`: the user of the ranks; nullopt = that of this process. After a
  /// failure the process must end without starting a rank.
  Status make(const RoomPlan& plan, const std::optional<RankIdentity>& identity);

  /// "cgroup.procs" of the group that ranks begin in, open for writing; -1 = they stay in that of
  /// the supervisor.
  int group_of_ranks() const { return group_of_ranks_.get(); }

 private:
  Status open_sources(const RoomPlan& plan, const std::optional<RankIdentity>& identity);
  Status carry_out(const RoomStep& step, const Fd& source);
  static Status bind(const RoomStep& step, const Fd& source);

  bool has_own_mounts_;
  ShownFolder shown_;
  std::vector<Fd> sources_;  ///< Of each step; open for those that show something.
  Fd group_of_ranks_;
};

}  // namespace muster::agent
