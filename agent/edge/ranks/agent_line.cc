#include "agent/edge/ranks/agent_line.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/edge/ranks/supervisor_log.h"

namespace muster::agent {
namespace {

/// Agents that may wait for their turn: one is the rule.
constexpr int kWaitingMax = 4;
/// How long a new agent waits for the one before to hang up. The kernel does that for a dead agent
/// as soon as it reaps it; longer than this takes only one that hangs.
constexpr Duration kLastWords = std::chrono::seconds(2);

}  // namespace

AgentLine::AgentLine(int socket) : socket_(socket) {}

Status AgentLine::open() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, "sock", sizeof address.sun_path - 1);
  unlink("sock");
  listener_ = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_.get(), kWaitingMax) != 0) {
    return Error{ErrorCode::kIo, "sock: " + errno_text(errno)};
  }
  return ok();
}

pollfd AgentLine::newcomer() const {
  // A negative descriptor is ignored: who waits already need not wake us again.
  return {turn_at_ == kNever ? listener_.get() : -1, POLLIN, 0};
}

pollfd AgentLine::words() const {
  return {socket_.get(), POLLIN, 0};
}

bool AgentLine::accept(Instant now) {
  pollfd newcomer{listener_.get(), POLLIN, 0};
  if (poll(&newcomer, 1, 0) <= 0) {
    return false;
  }
  if (socket_.is_open()) {
    turn_at_ = std::min(turn_at_, now + kLastWords);
    if (now < turn_at_) {
      return false;
    }
    log_failure("the previous agent did not close its connection");
  }
  socket_ = Fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  buffer_.clear();
  is_told_ = true;
  if (!socket_.is_open()) {
    turn_at_ = now + kLastWords;  // No descriptor is left: not tried again at once.
    return false;
  }
  turn_at_ = kNever;
  return true;
}

void AgentLine::tell(const SupervisorStatus& status) {
  const bool wants_it = socket_.is_open() && is_told_;
  if (wants_it && !send_all(socket_.get(), encode_frame(status))) {
    is_told_ = false;
    shutdown(socket_.get(), SHUT_WR);
  }
}

}  // namespace muster::agent
