#pragma once
// RackCounts: the numbers of hosts, silent hosts and striking hosts of each rack (silent_hosts.h).
// Owned by SilentHosts. A silent host without a rack has a name of its own here and is never lost.

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace muster::membership {

/// The differences that one change makes to a rack's counts.
struct RackChange {
  int hosts = 0;
  int silent = 0;
  int striking = 0;
};

class RackCounts {
 public:
  void change(const std::string& name, const RackChange& by);
  /// The only rack with striking hosts. nullopt if there are several such racks, or no such rack.
  std::optional<std::string> only_striking() const;
  /// Racks of two hosts and more of which at most a tenth is left.
  std::size_t lost() const { return lost_; }

 private:
  struct Rack {
    int hosts = 0;
    int silent = 0;
    int striking = 0;
    bool is_lost() const { return hosts >= 2 && silent * 10 >= hosts * 9; }
  };
  std::map<std::string, Rack> racks_;
  std::size_t striking_ = 0;  ///< Racks with striking hosts.
  std::size_t lost_ = 0;
};

}  // namespace muster::membership
