#pragma once
// ClientFront takes the requests of clients. It decides which host answers a request: this node,
// the leader, a voter, or the host that holds the files. It matches forwarded requests with their
// answers. The answers of this node are in answers.h; ClientDesk holds the open questions. Owned by
// Node.
//
// Invariants: a request that names a node goes to that node, which treats it as a request of its
// own client. It never forwards any other forwarded request. Therefore there are no loops. It
// answers every question once, or gives it up after ClientDesk::kForwardTimeout. It says "no
// quorum" only if certainly nothing was accepted.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/api/request.h"
#include "agent/front/client_desk.h"
#include "agent/front/held_refusals.h"
#include "agent/front/request_notes.h"
#include "agent/node/certifying.h"
#include "agent/node/client_reply.h"
#include "agent/node/epoch_watch.h"
#include "agent/node/node_view.h"
#include "agent/roll/founding.h"
#include "agent/step/node_interface.h"
#include "agent/step/outbox.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transport.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

/// The parts that have a leader decide. `seat` is NodeView::seat.
struct OrderReach : ClientReach {
  scheduler::QuorumSeat& seat;
};
/// The parts with which a founder records a host that joins before there is a quorum.
struct FoundingReach {
  Founding& founding;
  crdt::HostStore& store;
};
/// The parts that a request may change on this host.
struct RequestReach : OrderReach {
  EpochWatch& epochs;
  FoundingReach founding;
};

class ClientFront {
 public:
  /// A host that has just started knows no leader yet. Until it does, and for at most this long,
  /// questions wait for one. Lower: a question right after a join is refused; higher: a host that
  /// was cut off at its start says so later.
  static constexpr Duration kFirstLeaderWait = std::chrono::seconds(15);
  /// The wait of one question. It is shorter than the patience of any client, so that the client
  /// hears a reason.
  static constexpr Duration kFirstLeaderPatience = std::chrono::seconds(1);

  ClientFront(Rng rng, Instant started) : desk_(rng), started_(started) {}

  enum class Heard : std::uint8_t {
    kTaken,  ///< It is answered, or passed on.
    kCopy,   ///< It is dropped: a copy of an order that another node passed on before. Obeyed
             ///< twice, an order would undo later ones; the answer to the first is on its way.
    kLeave,  ///< It is answered, and this host leaves now.
  };
  /// A request came in: of a client, of another node that passed it on, or of a newcomer that shows
  /// a ticket.
  Heard on_request(const RequestReach& reach, const gossip::Message& message,
                   const gossip::Received& input);
  /// A host answered a request that was passed on to it.
  void on_response(const ClientReach& reach, const gossip::Message& message);
  void on_output_read(const ClientReach& reach, const OutputRead& read);
  void on_stats_read(const ClientReach& reach, const StatsRead& read);
  /// The seat of this host answered orders and reads.
  void on_seat_answers(const ClientReach& reach, const scheduler::SeatAnswers& answers);
  /// True if `ready` is another leader than on_leader_ready() last handled.
  bool is_leader_news(HostId ready) const { return ready != asked_leader_; }
  /// The seat may know another leader that serves. The one before may be frozen or cut off and
  /// never answer: its questions go to the new one. True if there were any.
  bool on_leader_ready(const OrderReach& reach);
  /// A host went away, and with it the connection for its answers: the client tries another host at
  /// once.
  void on_host_gone(const ClientReach& reach, HostId host);
  /// Gives up questions whose time has run out.
  void tick(const ClientReach& reach);
  Instant next_deadline() const { return std::min(desk_.next_deadline(), held_.next_deadline()); }
  /// Answers the refusals whose notes the log has by now.
  void on_notes_settled(const ClientReach& reach);
  /// Refusals that this host made, for the audit, and the pace at which it takes those of others.
  RequestNotes& notes() { return notes_; }
  const RequestNotes& notes() const { return notes_; }
  NotesPace& notes_pace() { return notes_pace_; }

 private:
  /// A request, its asker, and if another node may be asked for them.
  struct Question {
    Asker asker;
    Request request;
    bool may_forward = false;
  };
  Heard on_question(const RequestReach& reach, const Question& question);
  /// False if the user has no right to it: then it is answered.
  bool lets_user(const ClientReach& reach, const Asker& asker, const Request& request);
  /// Notes for the audit that a person was refused, and answers, a leader once its log has the
  /// note.
  void refuse_person(const ClientReach& reach, const Asker& asker, const Request& request,
                     Response refusal);
  /// Notes that a person was refused, or looked at the output of another user. As
  /// RequestNotes::note().
  std::uint64_t note(const NodeView& node, const Asker& asker, const Request& request,
                     bool was_done, std::string why);
  void ask_named(const ClientReach& reach, const Question& question);
  /// False if the request was refused and answered.
  bool take_join(const RequestReach& reach, Question& question);
  void ask_leader(const OrderReach& reach, ClientDesk::Open question, bool may_forward);
  bool wait_for_first_leader(const ClientReach& reach, const ClientDesk::Open& question,
                             bool may_forward);
  bool pass_to_leader(const ClientReach& reach, const Question& question);
  void ask_voter(const ClientReach& reach, const Question& question);
  Heard ask_target(const RequestReach& reach, const Question& question);
  Heard ask_events(const RequestReach& reach, const Question& question);
  /// This and the next ask the loop of this host, which alone has the answer.
  Heard ask_output(const RequestReach& reach, const Question& question);
  Heard ask_stats(const RequestReach& reach, const Question& question);
  Heard ask_recovery(const RequestReach& reach, const Question& question);
  Heard ask_to_leave(const RequestReach& reach, const Question& question);
  /// True if the request names another host: it is passed on, or the client hears `why_not`.
  bool pass_to_target(const ClientReach& reach, const Question& question,
                      const std::string& why_not);
  void on_seat_reply(const ClientReach& reach, const scheduler::SeatReply& reply);
  void on_read_done(const ClientReach& reach, std::uint64_t request, bool is_confirmed);
  void lead(const OrderReach& reach, const ClientDesk::Open& question);
  void forward(const ClientReach& reach, const ClientDesk::Open& question);

  ClientDesk desk_;
  RequestNotes notes_;
  NotesPace notes_pace_;
  CertifyPace certify_pace_;
  HeldRefusals held_;
  Instant started_;
  bool has_met_leader_ = false;
  HostId asked_leader_;  ///< The last leader that on_leader_ready() passed questions to.
};

}  // namespace muster::agent
