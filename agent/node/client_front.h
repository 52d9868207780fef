#pragma once
// Clients' requests: each is answered here, by the leader, by a voter, or by the host that holds
// the files, and what was passed on is matched with its answer. It decides who is asked; what this
// node answers itself is answers.h, and who waits for what is ClientDesk. The Node's.
//
// Invariants: a request that names a node goes to that one, which takes it for its own client's;
// whatever else was forwarded is never forwarded again. So there are no loops. Every question is
// answered once, or given up after ClientDesk::kForwardTimeout. "No quorum" is said only when
// surely nothing was accepted.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/api/request.h"
#include "agent/front/client_desk.h"
#include "agent/node/epoch_watch.h"
#include "agent/node/known.h"
#include "agent/roll/founding.h"
#include "agent/step/outbox.h"
#include "agent/step/words.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transport.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

/// The parts that answer a client.
struct ClientReach {
  Known known;
  Outbox& outbox;
};
/// The parts that have a leader decide. `seat` is the one that is known.
struct OrderReach : ClientReach {
  scheduler::QuorumSeat& seat;
};
/// A host that is met before there is a quorum is recorded by the founder that was asked.
struct FoundingReach {
  Founding& founding;
  crdt::HostStore& store;
};
/// The parts that a request may move on this host.
struct RequestReach : OrderReach {
  EpochWatch& epochs;
  FoundingReach founding;
};

class ClientFront {
 public:
  /// A host that has just started knows no leader yet. Until it does, and for at most this long,
  /// it lets questions wait for one. Lower: who asks right after a join is refused; higher: a host
  /// that is cut off from its start on says so later.
  static constexpr Duration kFirstLeaderWait = std::chrono::seconds(15);
  /// One question waits so long: less than the least patient client, which would know nothing.
  static constexpr Duration kFirstLeaderPatience = std::chrono::seconds(1);

  ClientFront(Rng rng, Instant started) : desk_(rng), started_(started) {}

  enum class Heard : std::uint8_t {
    kTaken,  ///< Answered, or asked elsewhere.
    kCopy,   ///< Of an order that another node passed on before. Obeyed twice, it would undo what
             ///< was said in between; the answer to the first is on its way.
    kLeave,  ///< Answered: this host shall leave now.
  };
  /// A client's request, one that another node passed on, or that of a newcomer that shows a
  /// ticket.
  Heard on_request(const RequestReach& reach, const gossip::Message& message,
                   const gossip::Received& input);
  /// The answer of a host that a request was passed on to.
  void on_response(const ClientReach& reach, const gossip::Message& message);
  void on_output_read(const ClientReach& reach, const OutputRead& read);
  void on_stats_read(const ClientReach& reach, const StatsRead& read);
  /// What became of orders that this host's seat took, and which reads it allows.
  void on_seat_answers(const ClientReach& reach, const scheduler::SeatAnswers& answers);
  /// Whether `ready` is not whom on_leader_ready was last told of.
  bool is_leader_news(HostId ready) const { return ready != asked_leader_; }
  /// The leader that surely serves is perhaps another one: the one before may be frozen or cut off,
  /// and then nothing would ever come of the questions. True when there were some to ask anew.
  bool on_leader_ready(const OrderReach& reach);
  /// A host went away. An answer would have come on the connection that is gone: the client tries
  /// elsewhere at once.
  void on_host_gone(const ClientReach& reach, HostId host);
  /// Gives up what waited too long.
  void tick(const ClientReach& reach);
  Instant next_deadline() const { return desk_.next_deadline(); }

 private:
  /// Who asks, what, and whether another node may be asked for him.
  struct Question {
    Asker asker;
    Request request;
    bool may_forward = false;
  };
  Heard on_question(const RequestReach& reach, const Question& question);
  void ask_named(const ClientReach& reach, const Question& question);
  /// False: it is answered, for it may not ask that.
  bool take_join(const RequestReach& reach, Question& question);
  void ask_leader(const OrderReach& reach, ClientDesk::Open question, bool may_forward);
  bool wait_for_first_leader(const ClientReach& reach, const ClientDesk::Open& question,
                             bool may_forward);
  bool pass_to_leader(const ClientReach& reach, const Question& question);
  void ask_voter(const ClientReach& reach, const Question& question);
  Heard ask_target(const RequestReach& reach, const Question& question);
  Heard ask_events(const RequestReach& reach, const Question& question);
  /// This and the next: answers that only the loop of this host has.
  Heard ask_output(const RequestReach& reach, const Question& question);
  Heard ask_stats(const RequestReach& reach, const Question& question);
  Heard ask_recovery(const RequestReach& reach, const Question& question);
  Heard ask_to_leave(const RequestReach& reach, const Question& question);
  /// True when the request names another host: it is asked, or the client hears `why_not`.
  bool pass_to_target(const ClientReach& reach, const Question& question,
                      const std::string& why_not);
  void on_seat_reply(const ClientReach& reach, const scheduler::SeatReply& reply);
  void on_read_done(const ClientReach& reach, std::uint64_t request, bool is_confirmed);
  void lead(const OrderReach& reach, const ClientDesk::Open& question);
  void forward(const ClientReach& reach, const ClientDesk::Open& question);

  ClientDesk desk_;
  Instant started_;
  bool has_met_leader_ = false;
  HostId asked_leader_;  ///< Whom questions were last passed on to anew.
};

}  // namespace muster::agent
