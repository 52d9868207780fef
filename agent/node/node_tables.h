#pragma once
// The two tables of a Node's parts: what each waits for and what is done then, in the order in
// which they have their turn (a part without deadlines has no row); and which part takes the
// messages of which owner. A message that came with a client's request is not among the latter:
// ClientFront hears those first.

#include <string_view>

#include "agent/node/node.h"
#include "gossip/wire/message_table.h"

namespace muster::agent {

struct Node::Waiting {
  std::string_view name;
  Instant (*deadline)(const Node& node);
  void (*turn)(Node& node, Instant now);

  /// The seat asked how the hosts are.
  static void show_hosts(Node& node, Instant now);
};

struct Node::Hearing {
  gossip::Owner owner{};
  /// Its body is read by its owner's decoder. False: it does not fit, or nobody here hears it now.
  bool (*take)(Node& node, Instant now, const gossip::Message& message,
               const gossip::Received& input) = nullptr;

  static bool membership(Node& node, Instant now, const gossip::Message& message,
                         const gossip::Received& input);
  static bool rows(Node& node, Instant now, const gossip::Message& message,
                   const gossip::Received& input);
  static bool seat(Node& node, Instant now, const gossip::Message& message,
                   const gossip::Received& input);
  static bool agents(Node& node, Instant now, const gossip::Message& message,
                     const gossip::Received& input);
  /// Commands go to this host's agent, reports to the leader's scheduler: one conversation, two
  /// ends. Between them is who carries the renewals of its rack. False: it is not believed.
  static bool said(Node& node, Instant now, HostId from, Nonce nonce,
                   scheduler::AgentMessage message);
  static bool clients(Node& node, Instant now, const gossip::Message& message,
                      const gossip::Received& input);
};

}  // namespace muster::agent
