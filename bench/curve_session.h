#pragma once
// One side of CURVE (ZeroMQ RFC 26) on one connection: the four commands of its handshake, then
// messages in boxes. It knows no socket. As the server it accepts every key: a load has no secrets.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gossip/edge/link_keys.h"

namespace muster::bench {

class CurveSession {
 public:
  /// `own` outlives this. `server_key`: key of the dialled host; "" = this side is the server.
  CurveSession(const gossip::LinkKeys& own, std::string server_key);

  bool dials() const { return !server_key_.empty(); }
  bool is_ready() const { return is_ready_; }
  /// The first command of this side; "" for the server.
  std::string begin();
  /// The answer to a handshake command of the other side; "" if it needs no answer. nullopt if
  /// `word` is not such a command, or not for these keys.
  std::optional<std::string> answer(std::string_view word);
  /// From is_ready() on: the frame of a message, and the message of a frame. nullopt if the frame
  /// is not a box of this connection, or holds a command.
  std::string seal(std::string_view message);
  std::optional<std::string> open(std::string_view frame);

 private:
  std::optional<std::string> welcome(std::string_view hello);
  std::optional<std::string> initiate(std::string_view welcome);
  std::optional<std::string> ready(std::string_view initiate);
  void meet(std::string_view their_short_key);
  std::string next_nonce();

  const gossip::LinkKeys* own_;
  std::string server_key_;
  gossip::LinkKeys short_lived_;  ///< Of this connection.
  std::string their_short_key_{};
  std::string shared_{};  ///< Secret of both short-lived pairs.
  std::uint64_t nonce_ = 0;
  bool is_ready_ = false;
};

}  // namespace muster::bench
