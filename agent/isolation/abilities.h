#pragma once
// The ways in which a host can hold ranks to what they were given. Each was tried on that host when
// its agent started: a way is there if it worked, not if the kernel should have it. A host tells
// them as labels ("can-devices"), so that a job may ask for them.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::agent {

/// The numbers stand in files of grants: never reused.
enum class Ability : std::uint8_t {
  kMemory = 0,   ///< A control group ends ranks that use more memory than they were given.
  kCpu = 1,      ///< A control group keeps ranks on their processors.
  kPids = 2,     ///< A control group limits processes.
  kDevices = 3,  ///< A program of a control group keeps ranks from other devices.
  kMounts = 4,   ///< Ranks have a /tmp, a /dev and a /dev/shm of their own.
};
inline constexpr std::array<Ability, 5> kAbilities = {
    Ability::kMemory, Ability::kCpu, Ability::kPids, Ability::kDevices, Ability::kMounts};

/// "memory", "cpu", "pids", "devices", "mounts".
std::string_view text_of(Ability ability);
std::optional<Ability> ability_named(std::string_view text);

class AbilitySet {
 public:
  AbilitySet() = default;
  AbilitySet& add(Ability ability) {
    bits_ |= bit(ability);
    return *this;
  }
  bool has(Ability ability) const { return (bits_ & bit(ability)) != 0; }
  /// "can-devices", "can-mounts": the labels of a host, sorted.
  std::vector<std::string> labels() const;
  /// "devices, mounts"; "none of memory, cpu, ..." if it is empty.
  std::string text() const;
  bool operator==(const AbilitySet&) const = default;

 private:
  static constexpr unsigned bit(Ability ability) { return 1U << static_cast<unsigned>(ability); }
  unsigned bits_ = 0;
};

}  // namespace muster::agent
