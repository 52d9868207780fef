#pragma once
// Which part of a Node takes the messages of which owner: a table with a row for each. A message
// that came with a request of a client's is not among them; ClientFront hears those first.

#include "agent/node/node.h"
#include "gossip/wire/message_table.h"

namespace muster::agent {

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
