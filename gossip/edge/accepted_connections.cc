#include "gossip/edge/accepted_connections.h"

namespace muster::gossip {
namespace {

/// Bytes that a peer gets before the last message of a handshake (RFC 26): the greeting and
/// WELCOME, then perhaps ERROR, which holds a sentence of ours. READY has 30 bytes before the
/// properties, which are at least 30 more for a ROUTER.
constexpr std::uint64_t kGreetingBytes = 64;
constexpr std::uint64_t kWelcomeBytes = 170;
constexpr std::uint64_t kErrorBytesMax = 48;

/// True if the kernel does not say.
bool is_finished(const ConnectionMark& connection) {
  return connection.sent_bytes().value_or(UINT64_MAX) >
         kGreetingBytes + kWelcomeBytes + kErrorBytesMax;
}

}  // namespace

void AcceptedConnections::on_accepted(std::size_t listener, int fd) {
  const std::lock_guard lock(mutex_);
  const ConnectionMark mark(fd);
  if (closing_[listener] > 0) {
    mark.end();
    return;
  }
  const Place place(listener, fd);
  if (const auto old = connections_.find(place); old != connections_.end()) {
    forget(old);
  }
  unfinished_.push_back(place);
  connections_.emplace(place, Connection{mark, std::prev(unfinished_.end())});
  limit_unfinished();
}

/// Looks at a connection once, when the limit reaches it: then it has finished, or is ended.
void AcceptedConnections::limit_unfinished() {
  while (unfinished_.size() > unfinished_max_) {
    Connection& oldest = connections_.at(unfinished_.front());
    if (!is_finished(oldest.mark) && oldest.mark.end()) {
      ++ended_unfinished_;
    }
    oldest.waiting = unfinished_.end();
    unfinished_.pop_front();
  }
}

std::string AcceptedConnections::on_ended(std::size_t listener, int fd) {
  const std::lock_guard lock(mutex_);
  const auto ended = connections_.find({listener, fd});
  if (ended == connections_.end()) {
    return "";
  }
  std::string from = ended->second.mark.peer_ip_text();
  forget(ended);
  return from;
}

void AcceptedConnections::forget(Connections::iterator connection) {
  if (connection->second.waiting != unfinished_.end()) {
    unfinished_.erase(connection->second.waiting);
  }
  connections_.erase(connection);
}

void AcceptedConnections::on_closed(std::size_t listener) {
  const std::lock_guard lock(mutex_);
  --closing_[listener];
}

void AcceptedConnections::end_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [at, connection] : connections_) {
    connection.mark.end();
  }
  connections_.clear();
  unfinished_.clear();
  for (int& closing : closing_) {
    ++closing;
  }
}

std::size_t AcceptedConnections::size() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

std::uint64_t AcceptedConnections::ended_unfinished() const {
  const std::lock_guard lock(mutex_);
  return ended_unfinished_;
}

}  // namespace muster::gossip
