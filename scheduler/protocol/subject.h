#pragma once
// The one that gave an order, as the log keeps it.

#include <string>

namespace muster::scheduler {

struct Subject {
  /// "USER@HOST", as that host's client said: nothing proves it yet. "" = nobody asked for it.
  std::string name;
  bool operator==(const Subject&) const = default;
};

}  // namespace muster::scheduler
