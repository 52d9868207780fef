#pragma once
// How many hosts of each rack there are, are silent, and are striking (silent_hosts.h). A host
// without a rack that is silent is counted under a name of its own and has no rack to lose.

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace muster::membership {

/// What one change adds to a rack's counts; negative: takes away.
struct RackChange {
  int hosts = 0;
  int silent = 0;
  int striking = 0;
};

class RackCounts {
 public:
  void change(const std::string& name, const RackChange& by);
  /// The one rack with striking hosts; nothing when there are several, or none.
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
