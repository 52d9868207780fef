#include "agent/edge/run/host_room.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "agent/edge/event_log.h"
#include "agent/edge/gpu/hooks.h"
#include "agent/edge/host/kernel_labels.h"

namespace muster::agent {

scheduler::HostTraits traits_of(const RunOptions& options, const AbilitySet& abilities) {
  scheduler::HostTraits traits = options.traits;
  for (std::string& fact : kernel_labels()) {
    traits.labels.push_back(std::move(fact));
  }
  for (std::string& ability : held_by(options, abilities).labels()) {
    traits.labels.push_back(std::move(ability));
  }
  // A grant waits for its own prologs, and for the epilogs of the one before it on its GPUs.
  const Hooks hooks(options.hardware.hooks);
  if (hooks.has(HookKind::kProlog) || hooks.has(HookKind::kEpilog)) {
    const auto limit = std::chrono::duration_cast<std::chrono::seconds>(Hooks::kGrantRunLimit);
    traits.labels.push_back("prolog=" + std::to_string(limit.count()));  // The leader waits longer.
  }
  std::sort(traits.labels.begin(), traits.labels.end());
  traits.labels.erase(std::unique(traits.labels.begin(), traits.labels.end()), traits.labels.end());
  return traits;
}

/// Ranks that are root leave each room.
AbilitySet held_by(const RunOptions& options, const AbilitySet& abilities) {
  return geteuid() == 0 && options.users.is_shared ? AbilitySet() : abilities;
}

std::string why_unfit(const std::vector<std::string>& min_isolation, const AbilitySet& held) {
  std::string lacking;
  for (const std::string& name : min_isolation) {
    const std::optional<Ability> ability = ability_named(name);
    if (!ability.has_value() || !held.has(*ability)) {
      lacking += (lacking.empty() ? "" : ", ") + name;
    }
  }
  return lacking.empty() ? "" : "isolation: it lacks " + lacking + ", which min_isolation names";
}

ProbedHost probe_host(const RunOptions& options) {
  const bool is_root = geteuid() == 0 && !options.users.is_shared;
  ProbedHost probed =
      probe_abilities(std::filesystem::weakly_canonical(options.data_dir).string(), is_root);
  std::string lacks;
  for (const std::string& why : probed.whys) {
    lacks += (lacks.empty() ? "" : "; ") + why;
  }
  log_event({Severity::kInfo,
             "ranks_are_held",
             {{"by", probed.abilities.text()}, {"lacks", std::move(lacks)}}});
  return probed;
}

RoomHost room_host(const ProbedHost& probed, const RunOptions& options, const std::string& socket) {
  static constexpr std::uint64_t kMegabyte = 1 << 20;
  RoomHost host;
  host.abilities = probed.abilities;
  host.group_root = probed.group_root;
  host.data_directory = std::filesystem::weakly_canonical(options.data_dir).string();
  host.agent_socket = std::filesystem::weakly_canonical(socket).string();
  host.memory_mb = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) *
                   static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / kMegabyte;
  return host;
}

}  // namespace muster::agent
