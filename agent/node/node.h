#pragma once
// One agent's whole mind: the machines of all folders composed, and the only place where they meet.
// The production event loop and the simulator drive this very class; it owns no socket, file or
// clock. Messages come in as bytes and pass the one decoder; what goes out is bytes again.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "agent/api/client_api.h"
#include "agent/front/client_desk.h"
#include "agent/front/event_ring.h"
#include "agent/gang/gang_agent.h"
#include "agent/gang/renewal_relay.h"
#include "agent/node/id_watch.h"
#include "agent/node/seed_contact.h"
#include "agent/node/words.h"
#include "crdt/disk/write_batch.h"
#include "crdt/rows/address_book.h"
#include "crdt/store/host_store.h"
#include "gossip/base/event.h"
#include "gossip/base/rng.h"
#include "gossip/base/state_machine.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transport.h"
#include "membership/membership.h"
#include "scheduler/seat/obeyed_epoch.h"
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
  Output take_output();
  void check_invariants() const;

  // For checkers and the read model.
  const NodeOptions& options() const { return options_; }
  const membership::Membership& membership() const { return membership_; }
  const crdt::HostStore& store() const { return store_; }
  const scheduler::QuorumSeat& seat() const { return seat_; }
  const GangAgent& gang_agent() const { return gang_agent_; }
  const crdt::AddressBook& addresses() const { return addresses_; }
  ClusterId cluster() const { return cluster_; }
  /// What each part waits for, in ns from now: for people who look for a spinning one.
  std::string deadlines_text() const;
  /// Messages that were dropped: malformed, of another version or cluster, or of no known type.
  std::uint64_t dropped_count() const { return dropped_count_; }

 private:
  enum class PersistOwner : std::uint8_t { kSeat, kGangAgent, kEpoch, kNobody };
  struct PersistRef {
    PersistOwner owner = PersistOwner::kNobody;
    std::uint64_t id = 0;
    Instant since{};
  };
  /// The connection the message at hand came in on: how to answer a host whose row is unknown.
  struct Current {
    HostId from;
    gossip::Route route;
  };

  // node.cc: inputs and time.
  void on(Instant now, gossip::Received input);
  void on(Instant now, const gossip::LinkUp& input);
  void on(Instant now, const gossip::LinkDown& input);
  void on(Instant now, const Persisted& input);
  void on(Instant now, const Paused& input);
  void on(Instant now, const LeaveAsked& input);
  void on(Instant now, const StopAsked& input);
  void on(Instant now, OutputRead input);
  void on(Instant now, SupervisorReport input);
  bool admit(const gossip::Envelope& envelope, const gossip::Endpoint& link);
  void ask_raise(Generation to);
  void adopt_cluster(ClusterId cluster);

  // node_epoch.cc: which quorum is obeyed, and the operator's word that another shall be.
  void begin_epochs(Instant now);
  /// Whether a message of this envelope may be carried on.
  bool meet_epoch(Instant now, const gossip::Envelope& envelope);
  bool is_new_complaint(std::string_view alarm, HostId host, const ClusterEpoch& epoch);
  void raise_epoch(Instant now, const ClusterEpoch& epoch);
  void epoch_persisted(Instant now, std::uint64_t counter);
  void ask_recovery(Instant now, const Asker& asker, const Request& request);
  Response recover(Instant now, const RecoverArgs& order);
  RecoveryInfo recovery_info(Instant now) const;

  void dispatch(Instant now, const gossip::Message& message);
  void to_agent(Instant now, HostId from, Nonce nonce, scheduler::AgentMessage message);
  /// Those that could take a seat in the quorum.
  std::vector<scheduler::SeenHost> seen_hosts() const;
  Instant disk_look_at() const;
  void greet_seeds(Instant now);
  void publish_identity(Instant now, bool left);
  void publish_quorum(Instant now);
  void ask_for_goodbye(Instant now);
  void note_goodbye(Instant now, HostId from, const crdt::RowsBody& body);

  // node_pump.cc: outputs of one part become inputs of another, until all are quiet.
  void pump(Instant now);
  bool drain_store(Instant now);
  bool drain_membership(Instant now);
  bool drain_seat(Instant now);
  void send_from_seat(Instant now, const scheduler::SeatSend& message);
  bool drain_gang_agent(Instant now);
  bool drain_relay(Instant now);
  bool has_relays() const { return membership_.members().size() >= options_.relays_from_hosts; }
  HostId relay_of_rack() const;
  bool is_of_own_rack(HostId host) const;
  bool compares_rows_with(HostId host) const;
  void drain_id_watch(Instant now);
  void row_changed(Instant now, const crdt::FieldChange& change);
  void member_changed(Instant now, HostId host, bool has_new_identity);
  void update_neighbours(Instant now);
  void tell_seeds(Instant now);
  void view_changed(Instant now, HostId host);
  bool follow_leader(Instant now);
  /// Of a message of this host, with nothing behind the body.
  gossip::Envelope envelope_of(gossip::MessageType type, Nonce nonce) const;
  void send(HostId to, gossip::MessageType type, Nonce nonce, const std::string& body);
  void persist(PersistRef owner, crdt::Environment environment, crdt::WriteBatch writes);
  void emit(Event event);
  void emit(Severity severity, std::string_view name,
            std::vector<std::pair<std::string_view, std::string>> fields);

  // node_requests.cc: clients.
  void on_request(Instant now, const gossip::Message& message, gossip::Route route);
  void on_response(const gossip::Message& message);
  void answer(const Asker& asker, const Response& response);
  void answer_read(Instant now, std::uint64_t request, bool granted);
  void ask_leader(Instant now, ClientDesk::Open question, bool may_forward);
  bool ask_anew(Instant now);
  void ask_voter(Instant now, const Asker& asker, const Request& request, bool may_forward);
  void ask_output(Instant now, const Asker& asker, const Request& request);
  void leave(Instant now, const Asker& asker, const Request& request);
  bool pass_to_leader(Instant now, const Asker& asker, const Request& request);
  void lead_request(Instant now, ClientDesk::Open question);
  void forward(Instant now, ClientDesk::Open question);
  void refuse(const ClientDesk::Open& question, const std::string& text);
  void finish_client(const scheduler::SeatReply& reply);
  void expire_questions(Instant now);
  void give_up_on(HostId host);
  void end_unanswered(const std::vector<ClientDesk::Open>& questions, const std::string& why);
  bool is_reachable(HostId host) const;
  bool is_leader_reachable(HostId leader) const;
  Response good(Instant now, std::string payload) const;
  Response bad(ResponseStatus status, std::string text) const;

  // node_answers.cc: what this node knows itself.
  void answer_here(Instant now, const Asker& asker, const Request& request);
  /// `unled`: why no leader may be there, as far as who asks knows; "" = he knows nothing.
  Response answer_from_state(Instant now, const Request& request,
                             const std::string& unled = "") const;
  std::size_t live_voters(const crdt::QuorumView& quorum, HostId without) const;
  VoterInfo voter_info(Instant now, HostId host,
                       const std::vector<scheduler::MemberLag>& lag) const;
  QuorumInfo quorum_info(Instant now) const;
  NodeList node_list() const;
  void note_confirmed(Instant now, HostId host, const crdt::RowVersion& newest);
  Duration age_of_rows(Instant now) const;

  NodeOptions options_;
  Rng rng_;
  ClusterId cluster_;
  crdt::AddressBook addresses_;
  SeedContact seeds_;
  membership::Membership membership_;
  crdt::HostStore store_;
  scheduler::QuorumSeat seat_;
  scheduler::ObeyedEpoch epoch_;
  GangAgent gang_agent_;
  RenewalRelay relay_;
  ClientDesk desk_;
  IdWatch id_watch_;
  EventRing recent_;
  Instant now_{};
  Current current_;
  /// The connection on which a host last spoke to this one as its leader.
  struct AgentRoute {
    gossip::Route route;
    Instant heard_at{};
  };
  std::map<HostId, AgentRoute> agent_routes_;
  std::map<std::uint64_t, PersistRef> persists_;  ///< Rising in time, too.
  Instant disk_looked_at_{};
  std::uint64_t last_persist_ = 0;
  std::uint64_t dropped_count_ = 0;
  /// What a host's row offers, decoded once a version: its view changes more often.
  struct Offer {
    crdt::RowVersion version;
    bool cordoned = false;
    std::vector<std::string> unhealthy_gpus;
  };
  const Offer& offer_of(HostId host);

  /// When a watched host's ack last said that nothing newer of its row exists than is held here.
  std::map<HostId, Instant> confirmed_;
  Instant started_{};
  Instant awake_since_{};
  std::map<HostId, Offer> offers_;
  std::vector<HostId> neighbours_;
  bool neighbours_stale_ = true;
  std::uint64_t overlay_epoch_ = 0;  ///< The membership's, when neighbours were last chosen.
  Sequence sent_sequence_;
  HostId told_leader_;
  std::optional<Instant> leader_heard_at_;  ///< Its last message to this host, if any.
  HostId asked_leader_;  ///< Whom clients' questions were last passed on to anew.
  Term told_term_;
  bool told_storm_ = false;
  Instant exit_at_ = kNever;
  bool stopping_ = false;
  Instant ask_goodbye_at_ = kNever;
  /// Leaving: those that have not shown yet that they know.
  std::set<HostId> goodbye_waits_for_;
  std::optional<Generation> raise_to_;  ///< Waits until nobody else can answer for this id.
  /// By alarm and host, as last complained about.
  std::map<std::pair<std::string_view, HostId>, ClusterEpoch> epochs_complained_;
  HostId complaint_about_;  ///< The last foreign host complained about: once each in a row.
  Output output_;
};

}  // namespace muster::agent
