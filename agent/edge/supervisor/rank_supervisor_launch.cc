#include "agent/edge/supervisor/rank_supervisor_launch.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace muster::agent {
namespace {

using Environment = std::map<std::string, std::string>;

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? "" : ",") + item;
  }
  return text;
}

Environment base_environment(const scheduler::JobSpec& spec) {
  Environment environment;
  for (const char* name : {"PATH", "HOME", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) {
      environment[name] = value;
    }
  }
  for (const std::string& entry : spec.command.environment) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos && equals > 0) {
      environment[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
  }
  return environment;
}

void add_gang(Environment& environment, const Launch& launch,
              const std::vector<std::string>& hosts) {
  std::size_t world_size = 0;
  std::size_t node_rank = 0;
  for (std::size_t i = 0; i < launch.record.members.size(); ++i) {
    world_size += launch.record.members[i].rank_count();
    node_rank = launch.record.members[i].host == launch.member.host ? i : node_rank;
  }
  std::vector<std::string> gpus;
  for (const scheduler::GpuSlot& place : launch.member.gpus) {
    gpus.push_back(place.uuid.text());
  }
  environment["MASTER_ADDR"] = launch.master.ip_text();
  environment["MASTER_PORT"] = std::to_string(launch.master.port);
  environment["WORLD_SIZE"] = std::to_string(world_size);
  environment["LOCAL_WORLD_SIZE"] = std::to_string(launch.member.rank_count());
  environment["NODE_RANK"] = std::to_string(node_rank);
  environment["CUDA_VISIBLE_DEVICES"] = joined(gpus);
  environment["MUSTER_JOB_ID"] = text_of(launch.record.job);
  environment["MUSTER_ATTEMPT"] = std::to_string(launch.record.attempt);
  environment["MUSTER_TOKEN"] = launch.record.token.text();
  environment["MUSTER_HOSTS"] = joined(hosts);
}

/// A library that finds all processors of the host would start as many threads in each rank.
void add_threads(Environment& environment, const scheduler::Member& member) {
  const std::uint32_t ranks = std::max(1U, member.rank_count());
  if (member.cpus != 0) {
    environment.try_emplace("OMP_NUM_THREADS",
                            std::to_string(std::max(1U, member.cpus / scheduler::kOneCpu / ranks)));
  }
}

}  // namespace

LaunchOrder order_of(const Launch& launch, const std::vector<std::string>& hosts) {
  LaunchOrder order;
  order.argv = launch.record.spec.command.argv;
  order.directory = launch.record.spec.command.directory;
  order.grace = launch.record.spec.limits.grace;
  order.keep_when_isolated = launch.record.spec.limits.keep_when_isolated;
  order.hold_until = launch.hold_until;
  order.shell = launch.record.spec.command.shell;
  Environment environment = base_environment(launch.record.spec);
  add_gang(environment, launch, hosts);
  add_threads(environment, launch.member);
  for (const char* own : {"RANK", "LOCAL_RANK"}) {
    environment.erase(own);
  }
  for (const auto& [name, value] : environment) {
    order.environment.push_back(name + "=" + value);
  }
  for (std::uint32_t local = 0; local < launch.member.rank_count(); ++local) {
    const std::uint32_t rank = launch.member.first_rank + local;
    order.ranks.push_back(
        {rank, {"RANK=" + std::to_string(rank), "LOCAL_RANK=" + std::to_string(local)}});
  }
  return order;
}

}  // namespace muster::agent
