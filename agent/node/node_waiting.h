#pragma once
// What the parts of a Node wait for, and what is done then: a table, in the order in which they
// have their turn. A part without deadlines has no row.

#include <string_view>

#include "agent/node/node.h"

namespace muster::agent {

struct Node::Waiting {
  std::string_view name;
  Instant (*deadline)(const Node& node);
  void (*turn)(Node& node, Instant now);

  /// The seat asked how the hosts are.
  static void show_hosts(Node& node, Instant now);
};

}  // namespace muster::agent
