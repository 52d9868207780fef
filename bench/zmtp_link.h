#pragma once
// One TCP connection that speaks as much of ZMTP 3.0 as a ROUTER needs to hear another: greeting,
// CURVE mechanism, messages of one frame. libzmq would do, at one io thread's cost for each
// message; here ten thousand hosts share a process with nothing between them and the kernel.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/curve_session.h"

namespace muster::bench {

class ZmtpLink {
 public:
  /// Owns `fd`, which does not block and is connected or connecting.
  ZmtpLink(int fd, CurveSession session);
  ~ZmtpLink();
  ZmtpLink(const ZmtpLink&) = delete;
  ZmtpLink& operator=(const ZmtpLink&) = delete;

  int fd() const { return fd_; }
  /// Queues the message until the handshake is over and the kernel takes it.
  void send(std::string_view message);
  bool wants_write() const { return !out_.empty(); }
  /// False if the connection is over.
  bool flush();
  /// Appends messages that arrived. False if the connection is over, or is not ZMTP with CURVE.
  bool read(std::vector<std::string>& messages);

 private:
  bool take_greeting();
  bool take_frames(std::vector<std::string>& messages);
  bool take_frame(std::string_view frame, std::vector<std::string>& messages);

  int fd_;
  CurveSession session_;
  bool greeted_ = false;
  std::string in_;
  std::string out_;
  std::vector<std::string> held_;  ///< Messages that wait for the handshake.
};

}  // namespace muster::bench
