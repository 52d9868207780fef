#pragma once
// WebDoor carries requests of HTTP to the Node and its answers back. To the Node each question of a
// RestCall is a message of a client: of a login, if it came over the unix socket, else of a bearer,
// who shows an access token. Its answer goes back by a route of the door's own range. Owned by
// EventLoop; used by its thread.
//
// Invariants: each question of a server is answered once, within kPatience; the calls under way are
// no more than the servers let questions wait.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/api/rest/call.h"
#include "agent/edge/door/http_server.h"
#include "agent/edge/run/answer_thread.h"
#include "agent/edge/run/follow_desk.h"
#include "agent/edge/run/loop_share.h"
#include "agent/edge/run/question_queue.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "gossip/wire/transport.h"

namespace muster::agent {

struct DoorStats {
  bool is_https = false;  ///< Else it is the unix socket.
  HttpStats stats{};
};

class WebDoor {
 public:
  /// The routes of its clients; those of the transport are lower.
  static constexpr std::uint64_t kFirstRoute = std::uint64_t{1} << 63;
  static bool owns(gossip::Route route) { return route.value() >= kFirstRoute; }
  /// For all questions of a call, and for its turn before that. Longer than a Node takes for one
  /// (ClientDesk::kForwardTimeout), and shorter than HttpDeadlines::question, so that the client
  /// hears a reason.
  static constexpr Duration kPatience = std::chrono::seconds(8);
  /// New small questions in one turn of the loop. Lists have their share of the loop (LoopShare), a
  /// turn begins one of them or asks for the next page of one, and their documents are made beside
  /// it.
  static constexpr int kBeginsATurn = 8;
  /// Lists that wait for the node or for their documents; a document may take a few MiB.
  static constexpr std::size_t kListsMax = 8;
  /// Lists that wait for their turn. A further one takes the place of the newest one of the client
  /// that has the most. The servers let more questions wait (HttpLimits::questions), so that small
  /// ones have room beside lists.
  static constexpr std::size_t kListsWaitingMax = 128;
  /// With less time left a call gives no order: its client would not hear what became of it.
  static constexpr Duration kOrderTime = std::chrono::seconds(2);
  /// For a question without which the call has an answer, too.
  static constexpr Duration kPatienceOfAddition = std::chrono::seconds(1);

  WebDoor(std::vector<std::unique_ptr<HttpServer>> servers, RestChance chance, Rng rng);

  /// One more server; owned by the door.
  HttpServer& add(std::unique_ptr<HttpServer> server);
  /// Ends a server of this door, and with it the calls of its clients.
  void close(const HttpServer& server);

  /// Readable when take() has something.
  std::vector<int> fds() const;
  /// The caller calls take() then.
  Instant next_deadline() const;
  /// Makes the text of /metrics. To be told before the first take().
  void tell_metrics(std::function<std::string()> text) { chance_.metrics = std::move(text); }
  /// Of each server.
  std::vector<DoorStats> stats() const;
  /// The messages that the Node hears now.
  std::vector<gossip::TransportInput> take(Instant now);
  /// The Node is about to hear a message: its time is charged if it answers a list.
  void notice_message();
  /// The Node answered. Precondition: owns(reply.route).
  void hear(Instant now, const gossip::Reply& reply);

 private:
  struct Call {
    HttpServer* server = nullptr;
    std::uint64_t question = 0;  ///< Of the server.
    gossip::Sender sender{};
    RestCall call;
    Nonce nonce{};
    Instant deadline{};  ///< Of its question.
    Instant end_by{};
    bool is_proven = false;
    bool is_list = false;
    bool is_away = false;          ///< At the AnswerThread, with `call`.
    bool waits_for_share = false;  ///< In pages_: its next question was not asked.
    std::string login_line{};      ///< Of /v1/login: goes into the cookie.
  };
  using Calls = std::map<std::uint64_t, Call>;

  void begin_some(Instant now);
  void hear_question(Instant now, HttpServer& server, HttpQuestion question);
  void begin(QuestionQueue::Waiting waiting, bool is_list, Instant now);
  /// False: no list waits for one.
  bool ask_next_page(Instant now);
  void refuse_late(Instant now, QuestionQueue& queue);
  void take_documents(Instant now);
  void end_call(Instant now, Calls::iterator at, std::optional<HttpAnswer> answer);
  void ask(Instant now, std::uint64_t route, Call& call);
  void go_on(Instant now, Calls::iterator at, Response response);
  void forget(Calls::iterator at);
  void expire(Instant now);

  std::vector<std::unique_ptr<HttpServer>> servers_;
  RestChance chance_;
  Rng rng_;
  QuestionQueue waiting_;            ///< For begin().
  QuestionQueue lists_;              ///< Of those, the ones that list many things.
  LoopShare share_;                  ///< Of lists.
  std::deque<std::uint64_t> pages_;  ///< Lists under way whose next question waits; some are over.
  Instant next_refusal_{};
  Duration cpu_mark_{0};  ///< Of the loop's thread, at notice_message().
  Calls calls_;           ///< By route.
  std::size_t lists_under_way_ = 0;
  std::uint64_t next_route_ = kFirstRoute;
  std::vector<gossip::TransportInput> said_;  ///< For the next take().
  AnswerThread documents_;
  FollowDesk desk_;  ///< The clients that follow; their streams go before the servers.
};

}  // namespace muster::agent
