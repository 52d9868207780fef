#pragma once
// TcpListener is a listening TCP socket. libzmq gets a copy of its descriptor to accept on, and may
// close the copy and get another. Meanwhile the port stays ours: a host that dials waits in the
// kernel and is not refused. It owns one descriptor and never blocks.

#include "gossip/base/result.h"
#include "gossip/wire/endpoint.h"

namespace muster::gossip {

class TcpListener {
 public:
  TcpListener() = default;
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;
  ~TcpListener();

  /// Binds and listens; port 0 = any. Call it once. kConflict: the port is taken (the text says
  /// what to do). kInvalid: not an address of this host. kIo: any other failure.
  Status open(const Endpoint& at);
  bool is_open() const { return fd_ >= 0; }
  /// The endpoint with its real port; is_none() unless it is open.
  Endpoint endpoint() const { return endpoint_; }
  /// Another descriptor of the same socket, which the caller closes; -1 if there is no descriptor.
  int copy() const;

 private:
  int fd_ = -1;
  Endpoint endpoint_;
};

}  // namespace muster::gossip
