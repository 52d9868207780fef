#pragma once
// ZmqClient is a blocking client of one agent, for the CLI: it sends messages and waits for
// answers. An agent that refuses is reported by connect(), not as a later timeout. Used by one
// thread.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::gossip {

class ZmqClient {
 public:
  /// `address`: "ipc:///path/agent.sock" or "tcp://IP:PORT" (a name is resolved once).
  /// kUnavailable within 200 ms if no agent answers there; the text says how to start one. kDenied
  /// if only other users may use the socket; the text names them.
  static Result<ZmqClient> connect(std::string_view address);
  ZmqClient(ZmqClient&&) noexcept;
  ZmqClient& operator=(ZmqClient&&) noexcept;
  ~ZmqClient();

  /// kInvalid above the message limit; kUnavailable if the queue is full. Then nothing is sent.
  Status send(std::string bytes);
  /// The next message; nullopt if `timeout` passes without one. kIo if the socket failed or the
  /// agent ended it while an answer was to come: it may or may not have carried out the request.
  Result<std::optional<std::string>> receive(Duration timeout);

 private:
  class Impl;
  explicit ZmqClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::gossip
