#pragma once
// One direction of a connection that is in trouble, as a kernel sees it. It sends a lost message
// again after 200 ms, doubling up to 120 s (RFC 6298, Linux); later messages wait in order. A
// message without an acknowledgement for the user timeout (RFC 5482) ends the connection. A
// direction in which no message was lost has no such record.

#include <cstdint>
#include <deque>
#include <utility>

#include "gossip/base/time.h"
#include "gossip/wire/transport.h"

namespace muster::sim {

inline constexpr Duration kResendMin = std::chrono::milliseconds(200);
inline constexpr Duration kResendMax = std::chrono::seconds(120);
/// Sockets and kernel hold no more; later messages are dropped, as at a high-water mark.
inline constexpr std::size_t kWaitingMax = 2'000;

/// One direction: the words of the host that dialled, or the answers to it.
struct StreamKey {
  std::uint32_t from = 0;  ///< The host that dialled.
  std::uint32_t to = 0;
  gossip::Channel channel = gossip::Channel::kControl;
  bool is_answer = false;
  auto operator<=>(const StreamKey&) const = default;
  std::uint32_t sender() const { return is_answer ? to : from; }
  std::uint32_t receiver() const { return is_answer ? from : to; }
};

struct TcpStream {
  std::uint32_t epoch = 0;  ///< Of the connection.
  Instant unacknowledged_since;
  Duration resend_after = kResendMin;
  std::deque<gossip::Received> waiting;  ///< Messages that did not arrive yet, in order.
};

}  // namespace muster::sim
