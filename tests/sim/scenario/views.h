#pragma once
// The view that each host has of each other one, and its mode, followed along a timeline: from the
// events of hosts alone.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/scenario/timeline.h"

namespace muster::sim::scenario {

enum class Seen : std::uint8_t { kUnknown, kAlive, kSuspect, kUnreachable, kLeft };

class Views {
 public:
  explicit Views(std::uint32_t hosts);

  void follow(const Told& told);

  bool is_up(std::uint32_t host) const { return up_[host]; }
  Seen seen(std::uint32_t by, std::uint32_t about) const { return seen_[by][about]; }
  const std::string& mode(std::uint32_t by) const { return modes_[by]; }
  /// Every host that is up sees every such host alive.
  bool are_all_alive() const { return wrong_ == 0; }
  /// "queued", "running", "completed" ...; "" = not heard of. As the log says it.
  const std::string& job(const std::string& name) const;
  /// How often the job was started, by the log.
  std::size_t starts(const std::string& name) const;

 private:
  void set(std::uint32_t by, std::uint32_t about, Seen seen);
  void set_up(std::uint32_t host, bool up);
  std::uint64_t wrong_of(std::uint32_t host) const;
  bool is_wrong(std::uint32_t by, std::uint32_t about) const;
  void follow_job(const Told& told);

  std::vector<bool> up_;
  std::vector<std::vector<Seen>> seen_;
  std::vector<std::string> modes_;
  std::uint64_t wrong_ = 0;  ///< Pairs of hosts that are up of which one does not see the other.
  struct JobSeen {
    std::uint64_t index = 0;  ///< Of the log: hosts tell the same one after the other.
    std::string state;
    std::set<std::uint64_t> starts;  ///< Indexes.
  };
  std::map<std::string, JobSeen> jobs_;
};

}  // namespace muster::sim::scenario
