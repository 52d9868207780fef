#pragma once
// QuestionQueue holds the questions of HTTP that wait for a turn of the loop. The next one is of
// the client whose last turn is longest ago, so that a client that asks much delays itself alone.
// Questions of one client keep their order. The servers bound their number (HttpLimits::questions).
// Owned by WebDoor.

#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/rest/proof.h"
#include "agent/edge/door/http_server.h"
#include "gossip/base/time.h"

namespace muster::agent {

class QuestionQueue {
 public:
  struct Waiting {
    HttpServer* server = nullptr;
    HttpQuestion question{};
    Instant taken_at{};
    Proof proof{};
  };

  /// A client is a login, or an address.
  void push(Waiting waiting);
  /// nullopt: none waits.
  std::optional<Waiting> pop();
  /// The newest question of the client that has the most. Precondition: !is_empty().
  Waiting take_newest_of_most();
  /// Takes out the questions that were taken by then, in any order.
  std::vector<Waiting> take_late(Instant taken_by);
  /// The questions of that server are gone.
  void forget(const HttpServer& server);
  bool is_empty() const { return turns_.empty(); }
  std::size_t size() const { return size_; }

 private:
  /// Clients without a question have no turn.
  void forget_idle();

  std::map<std::string, std::deque<Waiting>> by_client_;  ///< No deque is empty.
  std::list<std::string> turns_;                          ///< Each client once; the next one first.
  std::size_t size_ = 0;                                  ///< Of all deques.
};

}  // namespace muster::agent
