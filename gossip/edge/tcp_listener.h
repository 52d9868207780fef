#pragma once
// A listening TCP socket of our own. libzmq gets a copy of its descriptor to accept on, and may
// close that and get another: the port stays ours meanwhile, and who dials in between waits in the
// kernel instead of being refused. Edge code: owns one descriptor, never blocks.

#include "gossip/base/result.h"
#include "gossip/wire/endpoint.h"

namespace muster::gossip {

class TcpListener {
 public:
  TcpListener() = default;
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;
  ~TcpListener();

  /// Binds and listens; port 0 = any. Once. kConflict: the port is taken (the text says what to
  /// do). kInvalid: not an address of this host. kIo: anything else.
  Status open(const Endpoint& at);
  bool is_open() const { return fd_ >= 0; }
  /// With the real port; none unless it is open.
  Endpoint endpoint() const { return endpoint_; }
  /// Another descriptor of the same socket, the caller's to close; -1 when there is none left.
  int copy() const;

 private:
  int fd_ = -1;
  Endpoint endpoint_;
};

}  // namespace muster::gossip
