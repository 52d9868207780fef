#pragma once
// The settings of an agent, from their sources: a flag beats MUSTER_* in the environment beats the
// config file beats the default.

#include <string>
#include <vector>

#include "cli/kit/agent_verb.h"
#include "cli/kit/settings.h"
#include "cli/kit/world.h"

namespace muster::cli {

inline constexpr std::uint16_t kControlPort = 7450;
inline constexpr std::uint16_t kHttpsPort = 7449;

/// All settings, as the config file names them; upper case behind MUSTER_ in the environment.
const std::vector<std::string>& agent_setting_names();

/// `flags`: what was given on the command line. `config_path`: "" = the default file, which may be
/// missing. kInvalid says which setting is wrong, where it came from and what is possible.
Result<AgentOptions> agent_options(const World& world, const Settings& flags,
                                   const std::string& config_path);

/// Names of settings that say something else in `after`, and that an agent takes at its start
/// alone.
std::vector<std::string> settings_of_start(const AgentOptions& before, const AgentOptions& after);

}  // namespace muster::cli
