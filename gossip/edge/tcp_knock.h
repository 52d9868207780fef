#pragma once
// TcpKnock is one bare, non-blocking TCP connect to an address, closed as soon as it is answered.
// ZeroMQ reports that a connection ended but not why. The knock tells a dead agent (its kernel
// refuses) from one that still listens and from silence. It owns one socket.

#include "gossip/wire/endpoint.h"

namespace muster::gossip {

enum class KnockAnswer {
  kPending,    ///< No answer yet.
  kListening,  ///< A process accepts connections there.
  kRefused,    ///< The kernel answers, but no process listens.
  kSilent,     ///< Any other failure: unreachable, filtered, no descriptor left here.
};

class TcpKnock {
 public:
  explicit TcpKnock(const Endpoint& to);
  TcpKnock(TcpKnock&& other) noexcept;
  TcpKnock& operator=(TcpKnock&& other) noexcept;
  TcpKnock(const TcpKnock&) = delete;
  TcpKnock& operator=(const TcpKnock&) = delete;
  ~TcpKnock();

  /// A descriptor that becomes writable when the answer is there; -1 once it was read.
  int fd() const { return fd_; }
  /// Waits up to `wait_ms`; 0 = does not block. An answer other than kPending never changes.
  KnockAnswer answer(int wait_ms = 0);

 private:
  void close_with(KnockAnswer answer);

  int fd_ = -1;
  KnockAnswer answer_ = KnockAnswer::kPending;
};

}  // namespace muster::gossip
