#include "agent/isolation/abilities.h"

#include <algorithm>

namespace muster::agent {

std::string_view text_of(Ability ability) {
  switch (ability) {
    case Ability::kMemory:
      return "memory";
    case Ability::kCpu:
      return "cpu";
    case Ability::kPids:
      return "pids";
    case Ability::kDevices:
      return "devices";
    case Ability::kMounts:
      return "mounts";
  }
  return "";
}

std::optional<Ability> ability_named(std::string_view text) {
  const auto found = std::find_if(kAbilities.begin(), kAbilities.end(),
                                  [&](Ability ability) { return text_of(ability) == text; });
  return found == kAbilities.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> AbilitySet::labels() const {
  std::vector<std::string> labels;
  for (const Ability ability : kAbilities) {
    if (has(ability)) {
      labels.push_back("can-" + std::string(text_of(ability)));
    }
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

std::string AbilitySet::text() const {
  std::string there;
  std::string all;
  for (const Ability ability : kAbilities) {
    const std::string name(text_of(ability));
    all += (all.empty() ? "" : ", ") + name;
    if (has(ability)) {
      there += (there.empty() ? "" : ", ") + name;
    }
  }
  return there.empty() ? "none of " + all : there;
}

}  // namespace muster::agent
