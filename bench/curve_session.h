#pragma once
// One side of CURVE (ZeroMQ RFC 26) on one connection: the four words of its handshake, then boxes.
// It knows no socket. As the side that is dialled it lets everybody in: a load has no secrets.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gossip/edge/link_keys.h"

namespace muster::bench {

class CurveSession {
 public:
  /// `own` outlives this. `server_key`: of whom is dialled; "" = this side is dialled.
  CurveSession(const gossip::LinkKeys& own, std::string server_key);

  bool dials() const { return !server_key_.empty(); }
  bool is_ready() const { return is_ready_; }
  /// What is said first: nothing on the side that is dialled.
  std::string begin();
  /// A word of the other side before all is ready; the answer to it, which may be none. Nothing: it
  /// is no such word, or not for these keys.
  std::optional<std::string> answer(std::string_view word);
  /// From is_ready() on: what a frame holds of a message, and back. Nothing: it is no box of this
  /// connection, or holds a command.
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
  std::string shared_{};  ///< Made of both short-lived pairs.
  std::uint64_t nonce_ = 0;
  bool is_ready_ = false;
};

}  // namespace muster::bench
