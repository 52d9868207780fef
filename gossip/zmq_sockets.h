#pragma once
// The five libzmq sockets of a ZmqTransport and how they are set up; includes zmq.hpp and is
// included by zmq_transport.cc alone. Knows frames and monitor events, nothing of links or routes.
// Nothing here throws or blocks.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <zmq.hpp>

#include "gossip/base/result.h"
#include "gossip/transport.h"

namespace muster::gossip {

enum SocketIndex : std::size_t { kControlIn, kControlOut, kBulkIn, kBulkOut, kCli, kSocketCount };

SocketIndex in_of(Channel channel);
SocketIndex out_of(Channel channel);
bool is_out(std::size_t index);
Channel channel_of(std::size_t index);

enum class SendOutcome { kSent, kQueueFull, kUnreachable };
enum class ReadOutcome { kMessage, kMalformed, kNothing };

/// What libzmq's io thread says of a connection: `value` is a descriptor for the kinds we ask for,
/// but 0 for HANDSHAKE_SUCCEEDED. The routing id is not told.
struct MonitorEvent {
  int kind = 0;
  int value = 0;
  Endpoint peer;
};

class ZmqSockets {
 public:
  ZmqSockets();
  /// Makes and binds all of them; errors as ZmqTransport::open().
  Status open(const Endpoint& control, const Endpoint& bulk, const std::string& ipc_path);
  Endpoint listening(Channel channel) const { return listening_[in_of(channel)]; }

  /// False when libzmq refuses at once: no descriptor, no such address. `id` is never used again.
  bool connect(Channel channel, const std::string& id, const Endpoint& peer);
  void disconnect(Channel channel, const Endpoint& peer);
  SendOutcome send(std::size_t index, const std::string& id, const std::string& bytes);
  ReadOutcome read(std::size_t index, std::string& id, std::string& bytes);
  std::optional<MonitorEvent> next_event(Channel channel);
  /// Appends one item a socket: readable while there is something to read.
  void add_poll_items(std::vector<zmq::pollitem_t>& items);

 private:
  void make_socket(SocketIndex index);
  void make_monitor(SocketIndex index);
  Status bind_tcp(SocketIndex index, const Endpoint& endpoint);
  Status bind_cli(const std::string& path);
  bool receive(zmq::socket_t& socket, zmq::message_t& frame);

  zmq::context_t context_;
  std::array<zmq::socket_t, kSocketCount> sockets_;
  std::map<SocketIndex, zmq::socket_t> monitors_;  ///< Of the two out sockets.
  std::array<Endpoint, kSocketCount> listening_;
};

}  // namespace muster::gossip
