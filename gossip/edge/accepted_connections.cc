#include "gossip/edge/accepted_connections.h"

namespace muster::gossip {

void AcceptedConnections::on_accepted(std::size_t listener, int fd) {
  const std::lock_guard lock(mutex_);
  if (closing_[listener] > 0) {
    ConnectionMark(fd).end();
    return;
  }
  connections_.insert_or_assign({listener, fd}, ConnectionMark(fd));
}

void AcceptedConnections::on_ended(std::size_t listener, int fd) {
  const std::lock_guard lock(mutex_);
  connections_.erase({listener, fd});
}

void AcceptedConnections::on_closed(std::size_t listener) {
  const std::lock_guard lock(mutex_);
  --closing_[listener];
}

void AcceptedConnections::end_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [at, connection] : connections_) {
    connection.end();
  }
  connections_.clear();
  for (int& closing : closing_) {
    ++closing;
  }
}

std::size_t AcceptedConnections::size() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

}  // namespace muster::gossip
