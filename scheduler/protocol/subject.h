#pragma once
// The person that gave an order, as the log keeps it.

#include <string>

namespace muster::scheduler {

struct Subject {
  /// "USER@HOST" as the client of that host says, without proof. "" = no person ordered it.
  std::string name;
  bool operator==(const Subject&) const = default;
};

}  // namespace muster::scheduler
