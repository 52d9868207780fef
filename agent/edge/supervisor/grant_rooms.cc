#include "agent/edge/supervisor/grant_rooms.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/isolation/device_nodes.h"
#include "agent/isolation/room_limits.h"

namespace muster::agent {

GrantRooms::GrantRooms(RoomHost host, std::vector<Core> cores)
    : host_(std::move(host)), cores_(std::move(cores)) {}

Result<std::string> GrantRooms::write(const Prepare& grant, const RankUser& user,
                                      const std::string& directory) {
  RoomRequest request;
  request.token = grant.token.text();
  request.memory_mb = grant.member.memory_mb;
  request.milli_cpus = grant.member.cpus;
  request.cpus = choose(grant);
  request.directory = grant.directory;
  request.are_agents_own = user.kind == RankUser::Kind::kAgent;
  request.are_ranks_root = request.are_agents_own && geteuid() == 0;
  for (const scheduler::GpuSlot& place : grant.member.gpus) {
    request.gpus.push_back(place.uuid.text());
  }
  RoomHost here = host_;
  here.shared = shared_device_nodes({});  // A driver makes its nodes when it is first used.
  const RoomPlan plan = plan_of_room(request, here);
  const std::string bytes = encode(plan);
  const std::string path = directory + "/" + kRoomFile;
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const bool is_written = file.is_open() && ::write(file.get(), bytes.data(), bytes.size()) ==
                                                static_cast<ssize_t>(bytes.size());
  if (!is_written) {
    return Error{ErrorCode::kIo, path + ": " + errno_text(errno)};
  }
  if (!request.cpus.empty()) {
    cpus_[grant.token] = std::move(request.cpus);
  }
  return plan.held;
}

CpuList GrantRooms::choose(const Prepare& grant) const {
  CpuQuestion question;
  question.cores = cores_;
  question.milli_cpus = grant.member.cpus;
  for (const scheduler::GpuSlot& place : grant.member.gpus) {
    const auto node = host_.numa_nodes.find(place.uuid.text());
    if (node != host_.numa_nodes.end()) {
      question.gpu_nodes.push_back(node->second);
    }
  }
  for (const auto& [token, cpus] : cpus_) {
    question.taken.insert(cpus.begin(), cpus.end());
  }
  CpuList chosen = choose_cpus(question).cpus;
  // A list that a plan does not hold: every second one of thousands.
  return encode_cpu_list(chosen).size() > kRoomPathBytesMax ? CpuList() : std::move(chosen);
}

void GrantRooms::found(Token token, const std::string& directory) {
  const std::optional<std::string> bytes = read_file(directory + "/" + kRoomFile);
  const std::optional<RoomPlan> plan =
      bytes.has_value() ? decode_room_plan(*bytes) : std::optional<RoomPlan>();
  CpuList cpus = plan.has_value() ? limits_of(*plan).cpus : CpuList();
  if (!cpus.empty()) {
    cpus_[token] = std::move(cpus);
  }
}

}  // namespace muster::agent
