#pragma once
// The plan of a grant's room, left in the directory of the grant before its supervisor starts.

#include <string>

#include "agent/edge/grant/rank_user.h"
#include "agent/gang/gang_interface.h"
#include "agent/isolation/room_plan.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// Writes "room" into `directory`. It looks for the nodes of the driver and of RDMA at each call.
/// It need not survive a crash of the host: no rank does.
Status write_room(const Prepare& grant, const RankUser& user, const RoomHost& host,
                  const std::string& directory);

}  // namespace muster::agent
