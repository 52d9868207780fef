#include "gossip/edge/tcp_knock.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "gossip/edge/kernel_address.h"

namespace muster::gossip {
namespace {

KnockAnswer answer_of(int error) {
  if (error == 0) {
    return KnockAnswer::kListening;
  }
  return error == ECONNREFUSED ? KnockAnswer::kRefused : KnockAnswer::kSilent;
}

/// Whether a connect to a free port of this host met itself, because the kernel picked that port as
/// its source: no process listens there.
bool met_itself(int fd) {
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t own_size = sizeof own;
  socklen_t peer_size = sizeof peer;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
         own_size == peer_size && std::memcmp(&own, &peer, own_size) == 0;
}

}  // namespace

TcpKnock::TcpKnock(const Endpoint& to) {
  sockaddr_storage storage{};
  const socklen_t size = fill_address(to, storage);
  fd_ = socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) {
    answer_ = KnockAnswer::kSilent;
    return;
  }
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&storage), size) != 0 &&
      errno != EINPROGRESS) {
    close_with(answer_of(errno));
  }
}

TcpKnock::TcpKnock(TcpKnock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), answer_(other.answer_) {}

TcpKnock& TcpKnock::operator=(TcpKnock&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(answer_, other.answer_);
  return *this;
}

TcpKnock::~TcpKnock() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

KnockAnswer TcpKnock::answer(int wait_ms) {
  if (fd_ < 0) {
    return answer_;
  }
  pollfd item{fd_, POLLOUT, 0};
  if (poll(&item, 1, wait_ms) <= 0) {
    return KnockAnswer::kPending;
  }
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  const bool refused = error == 0 && met_itself(fd_);
  close_with(refused ? KnockAnswer::kRefused : answer_of(error));
  return answer_;
}

void TcpKnock::close_with(KnockAnswer answer) {
  close(std::exchange(fd_, -1));
  answer_ = answer;
}

}  // namespace muster::gossip
