#pragma once
// Node is an agent without its edge: it composes the machines of all rooms and is the only place
// where they meet. The production event loop and the simulator drive this very class. It owns no
// socket, file or clock. Messages come in and go out as bytes; one decoder reads all of them.
//
// The output of one part is the input of another, until all are quiet: see pump(). The Node owns
// nothing but its parts. The header of each part says what that part owns.

#include <cstdint>
#include <span>
#include <string>

#include "agent/gang/gang_agent.h"
#include "agent/health/host_gpus.h"
#include "agent/node/client_front.h"
#include "agent/node/epoch_watch.h"
#include "agent/node/leader_contact.h"
#include "agent/node/neighbours.h"
#include "agent/node/node_view.h"
#include "agent/roll/departure.h"
#include "agent/roll/host_directory.h"
#include "agent/roll/message_gate.h"
#include "agent/roll/own_keys.h"
#include "agent/roll/roll_keeper.h"
#include "agent/step/node_interface.h"
#include "agent/step/outbox.h"
#include "crdt/rows/address_book.h"
#include "crdt/store/host_store.h"
#include "gossip/base/rng.h"
#include "gossip/base/state_machine.h"
#include "gossip/wire/message.h"
#include "gossip/wire/message_table.h"
#include "membership/membership.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

class Node {
 public:
  using Input = NodeInput;
  using Output = NodeOutput;

  Node(NodeOptions options, const Recovered& recovered, Rng rng, Instant now);

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output() { return outbox_.take(); }
  void check_invariants() const;

  // For checkers and the read model.
  const NodeOptions& options() const { return options_; }
  const membership::Membership& membership() const { return membership_; }
  const crdt::HostStore& store() const { return store_; }
  const scheduler::QuorumSeat& seat() const { return seat_; }
  const GangAgent& gang_agent() const { return gang_agent_; }
  const HostGpus& gpus() const { return gpus_; }
  const crdt::AddressBook& addresses() const { return hosts_.addresses(); }
  const Roll& roll() const { return members_.roll(); }
  const AuthorityBook& authority() const { return members_.authority(); }
  ClusterId cluster() const { return message_gate_.cluster(); }
  /// Refusals that this host made, for the audit.
  const RequestNotes& notes() const { return front_.notes(); }
  /// All parts that answer. Valid until the next step or tick.
  NodeView view(Instant now) const;
  /// The deadline of each part, in ns from now: for people who look for a part that spins.
  std::string deadlines_text() const;
  /// Messages that were dropped: malformed, of another version or cluster, or of no known type.
  std::uint64_t dropped_count() const { return message_gate_.dropped_count(); }

 private:
  /// A part that waits for a deadline, and its turn.
  struct Waiting;
  /// All of them, in the order of their turns.
  static std::span<const Waiting> waiting();
  /// A part that takes the messages of an owner.
  struct Hearing;
  /// nullptr if no part takes the messages of `owner`.
  static const Hearing* hearing(gossip::Owner owner);

  // Inputs of the Node.
  void on_received(Instant now, gossip::Received input);
  void on_link_up(Instant now, const gossip::LinkUp& input);
  void on_link_down(Instant now, const gossip::LinkDown& input);
  void on_persisted(Instant now, const Persisted& input);
  void on_paused(Instant now, const Paused& input);
  void on_leave_asked(Instant now);
  void on_stop_asked(Instant now);
  void hear(Instant now, const gossip::Message& message, const gossip::Received& input);

  // Outputs of the parts. True if other parts may now have output, too.
  void pump(Instant now);
  bool drain_store(Instant now);
  bool drain_membership(Instant now);
  bool drain_seat(Instant now);
  bool drain_gang_agent(Instant now);
  bool drain_contact(Instant now);
  void say(const AgentSend& word);
  void drain_id_watch(Instant now);
  void on_row_changed(Instant now, const crdt::FieldChange& change);
  void on_member_changed(Instant now, HostId host, bool has_new_identity);
  void on_view_changed(Instant now, HostId host);
  void send_from_seat(Instant now, const scheduler::SeatSend& message);

  RequestReach reach(Instant now);
  gossip::Envelope envelope(gossip::MessageType type, Nonce nonce) const;
  void send(HostId to, gossip::MessageType type, Nonce nonce, std::string_view body);

  // The machines among them split off their randomness from the Node's in this order: with another
  // order every seed gives another run.
  NodeOptions options_;
  MessageGate message_gate_;
  RollKeeper members_;
  OwnKeys keys_;
  membership::Membership membership_;
  crdt::HostStore store_;
  scheduler::QuorumSeat seat_;
  GangAgent gang_agent_;
  HostGpus gpus_;
  ClientFront front_;
  Departure departure_;
  EpochWatch epochs_;
  HostDirectory hosts_;
  Neighbours neighbours_;
  LeaderContact contact_;
  Outbox outbox_;
};

}  // namespace muster::agent
