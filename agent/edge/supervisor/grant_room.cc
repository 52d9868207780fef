#include "agent/edge/supervisor/grant_room.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/isolation/device_nodes.h"

namespace muster::agent {

Status write_room(const Prepare& grant, const RankUser& user, const RoomHost& host,
                  const std::string& directory) {
  RoomRequest request;
  request.token = grant.token.text();
  request.memory_mb = grant.member.memory_mb;
  request.directory = grant.directory;
  request.are_agents_own = user.kind == RankUser::Kind::kAgent;
  for (const scheduler::GpuSlot& place : grant.member.gpus) {
    request.gpus.push_back(place.uuid.text());
  }
  RoomHost here = host;
  here.shared = shared_device_nodes({});  // A driver makes its nodes when it is first used.
  const std::string bytes = encode(plan_of_room(request, here));
  const std::string path = directory + "/" + kRoomFile;
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const bool is_written = file.is_open() && write(file.get(), bytes.data(), bytes.size()) ==
                                                static_cast<ssize_t>(bytes.size());
  return is_written ? ok() : Status(Error{ErrorCode::kIo, path + ": " + errno_text(errno)});
}

}  // namespace muster::agent
