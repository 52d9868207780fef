#pragma once
// The two tables of a Node's parts. Waiting has the deadline and the turn of each part, in the
// order of turns; a part without deadlines has no row. Hearing has the part that takes the messages
// of each owner. It does not have requests of clients: ClientFront hears those first.

#include <string_view>

#include "agent/node/node.h"
#include "gossip/wire/message_table.h"

namespace muster::agent {

struct Node::Waiting {
  std::string_view name;
  Instant (*deadline)(const Node& node);
  void (*turn)(Node& node, Instant now);

  /// Shows the hosts to the seat, which asked for them.
  static void show_hosts(Node& node, Instant now);
  /// Goes on with the change of this host's link keys.
  static void change_keys(Node& node, Instant now);
  /// Asks a voter for a page of the list of users.
  static void ask_for_users(Node& node, Instant now);
  /// Sends a batch of refusals to the leader, for the audit.
  static void send_notes(Node& node, Instant now);
  /// Goes on as the log takes batches of this host. True if the seat may have output now.
  static bool follow_notes(Node& node, Instant now);
  /// Publishes the offer of this host, as it is and as its GPUs are well.
  static void show_offer(Node& node, Instant now);
  /// Signs the certificate of HTTPS that the edge wants, or asks a voter for it.
  static void want_certificate(Node& node, Instant now, const CertifyArgs& wish);
  /// Carries on what became of the GPUs of this host. True if other parts may have output now.
  static bool follow_gpus(Node& node, Instant now);
};

struct Node::Hearing {
  gossip::Owner owner{};
  /// The decoder of the owner reads the body. False if it is not readable, or if no part hears the
  /// message now.
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
  /// A command goes to this host's agent, a report to the scheduler of a leader, a renewal perhaps
  /// to the relay. False if it is not believed.
  static bool said(Node& node, Instant now, HostId from, Nonce nonce,
                   scheduler::AgentMessage message);
  /// A copy of the list of users: another host's question, or a voter's page.
  static bool users(Node& node, Instant now, const gossip::Message& message,
                    const gossip::Received& input);
  /// A leader puts a batch of refusals into its log once, and says when the log has it.
  static void notes(Node& node, Instant now, scheduler::entry::NoteRequests batch);
  static bool clients(Node& node, Instant now, const gossip::Message& message,
                      const gossip::Received& input);
};

}  // namespace muster::agent
