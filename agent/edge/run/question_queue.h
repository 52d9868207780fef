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

#include "agent/edge/door/http_server.h"
#include "gossip/base/time.h"

namespace muster::agent {

class QuestionQueue {
 public:
  struct Waiting {
    HttpServer* server = nullptr;
    HttpQuestion question{};
    Instant taken_at{};
  };

  /// A client is a login, or an address.
  void push(Waiting waiting);
  /// nullopt: none waits.
  std::optional<Waiting> pop();
  /// The questions of that server are gone.
  void forget(const HttpServer& server);
  bool is_empty() const { return turns_.empty(); }

 private:
  std::map<std::string, std::deque<Waiting>> by_client_;  ///< No deque is empty.
  std::list<std::string> turns_;                          ///< Each client once; the next one first.
};

}  // namespace muster::agent
