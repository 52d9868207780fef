#pragma once
// GrantRooms makes the plan of each grant's room and leaves it in the directory of the grant before
// its supervisor starts. It gives processors out: those of a grant are in its plan, so that an
// agent that starts again knows which are taken. Owned by RankSupervisors.

#include <map>
#include <string>
#include <vector>

#include "agent/edge/grant/rank_user.h"
#include "agent/gang/gang_interface.h"
#include "agent/isolation/cpu_choice.h"
#include "agent/isolation/room_plan.h"
#include "gossip/base/result.h"

namespace muster::agent {

class GrantRooms {
 public:
  /// `cores` of this machine; empty = all grants share them.
  GrantRooms(RoomHost host, std::vector<Core> cores);

  /// The rooms of later grants are made from this.
  void hold_to(const RoomHost& host) { host_ = host; }

  /// RoomPlan::held, which is for people. Writes "room" into `directory`, for a grant
  /// without one. It looks for the nodes of the driver and of RDMA at each call. The file need not
  /// survive a crash of the host: no rank does.
  Result<std::string> write(const Prepare& grant, const RankUser& user,
                            const std::string& directory);
  /// A grant that an earlier agent started runs on, on the processors that its plan names.
  void found(Token token, const std::string& directory);
  /// No process of it is left.
  void gone(Token token) { cpus_.erase(token); }

 private:
  CpuList choose(const Prepare& grant) const;

  RoomHost host_;
  std::vector<Core> cores_;
  std::map<Token, CpuList> cpus_;  ///< Of grants that do not share.
};

}  // namespace muster::agent
