#pragma once
// A small blocking client of one agent, for the CLI: sends messages and waits for answers. Refusal
// shows at connect(), not as a timeout later. One thread.

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
  /// kUnavailable within 200 ms when nobody answers there; the text says how to start an agent.
  /// kDenied when only others may use the socket; the text says who.
  static Result<ZmqClient> connect(std::string_view address);
  ZmqClient(ZmqClient&&) noexcept;
  ZmqClient& operator=(ZmqClient&&) noexcept;
  ~ZmqClient();

  /// kInvalid above the message limit; kUnavailable when the queue is full: not sent.
  Status send(std::string bytes);
  /// The next message; nothing when `timeout` passed without one. kIo when the socket failed or the
  /// agent ended it since the last call: what it was asked may or may not have been done.
  Result<std::optional<std::string>> receive(Duration timeout);

 private:
  class Impl;
  explicit ZmqClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::gossip
