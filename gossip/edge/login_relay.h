#pragma once
// LoginRelay lets other logins of the machine reach the agent's own socket. It accepts at a
// LoginListener in a thread of its own, and passes bytes both ways. libzmq accepts every dial and
// reads all that is sent: a login that dials without end, or talks without end, would take the
// agent's time. The relay refuses connections beyond a login's limit (login_connections.h) or pace
// (login_pace.h) before they cost anything, and holds back messages beyond its pace: their sender
// waits, and nobody else. Memory: two blocks of kBlockBytes a connection.
//
// The inner connection is made with the effective user of the login (credentials(7): each thread
// has its own), so that the kernel names that user to libzmq. The peer's process is this one.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "gossip/edge/login_connections.h"
#include "gossip/edge/login_listener.h"
#include "gossip/edge/login_pace.h"

namespace muster::gossip {

class LoginRelay {
 public:
  /// Bytes that it holds for one direction of a connection.
  static constexpr std::size_t kBlockBytes = 16 * 1024;
  /// Limit of the wait at the end for answers that are on their way.
  static constexpr Duration kLastAnswers = std::chrono::milliseconds(300);

  struct Options {
    std::string inner;      ///< The unix socket that it dials.
    std::uint32_t own = 0;  ///< The user of this process.
    LoginConnections::Options limits{};
    LoginPace::Rate dials = LoginPace::kDials;
    LoginPace::Rate messages = LoginPace::kMessages;
  };
  struct Stats {
    std::uint64_t refused = 0;  ///< Connections beyond a limit or pace.
    /// Connections that could not be passed on: no descriptor is left, or this process may not act
    /// as a login or reach the inner socket (it lacks CAP_SETUID, CAP_SETPCAP or CAP_DAC_OVERRIDE).
    std::uint64_t failed = 0;
    std::uint64_t held = 0;  ///< Times that a message had to wait for its login's pace.
  };

  /// kIo: no descriptor or no thread is left.
  static Result<std::unique_ptr<LoginRelay>> start(Options options);
  /// Accepts no more, and ends each connection when the inner one has ended and its last bytes are
  /// passed on, or after kLastAnswers. End the socket at `inner` first.
  ~LoginRelay();
  LoginRelay(const LoginRelay&) = delete;
  LoginRelay& operator=(const LoginRelay&) = delete;

  /// Accepts there from now on, and no longer where it did before. The caller calls it about once a
  /// second. Without a descriptor the next call tries again.
  void accept_at(const LoginListener& listener);
  /// Clients wait in the kernel from now on, until there is another LoginRelay.
  void accept_no_more();
  /// From any thread.
  Stats stats() const;

 private:
  class Loop;
  explicit LoginRelay(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
  std::uint64_t edition_ = 0;  ///< Of the listener that it accepts at; 0 = not yet.
};

}  // namespace muster::gossip
