#pragma once
// ZmqSockets holds the five libzmq sockets of a ZmqTransport, and sets them up. Only zmq_links.h
// and zmq_transport.cc include it. It knows frames and monitor events, but no links or routes. No
// call throws; only wait() blocks. TCP speaks CURVE: both ends of a connection prove their key, the
// dialled one to the dialler, the dialler to the ZmqZap.

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <zmq.hpp>

#include "gossip/base/result.h"
#include "gossip/edge/accepted_connections.h"
#include "gossip/edge/admitted_keys.h"
#include "gossip/edge/link_keys.h"
#include "gossip/edge/tcp_listener.h"
#include "gossip/edge/zmq_transport.h"
#include "gossip/edge/zmq_zap.h"
#include "gossip/wire/transport.h"

namespace muster::gossip {

enum SocketIndex : std::size_t { kControlIn, kControlOut, kBulkIn, kBulkOut, kCli, kSocketCount };
/// Number of places to wait for: the sockets, then the monitors of the two out sockets.
inline constexpr std::size_t kWaitedCount = kSocketCount + 2;

SocketIndex in_of(Channel channel);
SocketIndex out_of(Channel channel);
bool is_out(std::size_t index);
/// The index of the listener of an `in` socket.
std::size_t listener_at(std::size_t index);
Channel channel_of(std::size_t index);

enum class SendOutcome { kSent, kQueueFull, kUnreachable };
/// kNoise: a large frame that does not begin as a message does; read() ends its connection.
enum class ReadOutcome { kMessage, kMalformed, kNoise, kNothing };

struct Incoming {
  std::string id;  ///< The routing id of the connection.
  std::string bytes;
  /// The property by which libzmq names the sender (gossip/edge/proof_text.h): the User-Id on an
  /// `in` socket, the Peer-Address on the socket of the CLI, "" on an `out` socket.
  std::string proof;
  int fd = -1;  ///< The connection's descriptor when it came in; it may be closed by now.
};

/// An event of libzmq's io thread about a connection. For the kinds we ask for `value` is a
/// descriptor, but 0 for HANDSHAKE_SUCCEEDED and a status for HANDSHAKE_FAILED_AUTH. libzmq does
/// not tell the routing id.
struct MonitorEvent {
  int kind = 0;
  int value = 0;
  Endpoint peer;
};

class ZmqSockets {
 public:
  ZmqSockets();
  ZmqSockets(const ZmqSockets&) = delete;
  ZmqSockets& operator=(const ZmqSockets&) = delete;
  /// Ends all monitors before any of their readers: libzmq leaks the memory of an event that it
  /// cannot send, and it ends connections in a thread of its own.
  ~ZmqSockets();
  /// Makes and binds all sockets; errors as ZmqTransport::open(). It lets in the keys of `keys`,
  /// which outlives this.
  Status open(const ZmqTransport::Options& options, const AdmittedKeys& keys);
  Endpoint listening(Channel channel) const {
    return listeners_[listener_at(in_of(channel))].endpoint();
  }
  /// Proves `own` to each peer that comes in from now on, and ends all inbound connections. False,
  /// and no change, if no descriptor is left.
  bool rekey(const LinkKeys& own);

  /// Makes the socket of the CLI again if a cleaner of temporary files, or any other program,
  /// removed it. The caller calls it about once a second: one call unbinds and a later one binds,
  /// because libzmq removes the path when it unbinds, in a thread of its own. True if the socket is
  /// there again.
  bool renew_cli(const std::string& path);

  /// Dials with the key `own` a peer that has to prove `expected`. False if libzmq refuses at once:
  /// there is no descriptor, or no such address. `id` is never used again.
  bool connect(Channel channel, const std::string& id, const Endpoint& peer, const LinkKeys& own,
               const std::string& expected);
  void disconnect(Channel channel, const Endpoint& peer);
  SendOutcome send(std::size_t index, const std::string& id, const std::string& bytes);
  ReadOutcome read(std::size_t index, Incoming& message);
  std::optional<MonitorEvent> next_event(Channel channel);
  /// Sleeps until a socket can be read, `others` have events, or the time is over. False only in
  /// the last case. zmq_poll was rejected: it asks libzmq about every socket twice, at two system
  /// calls each, which took a tenth of a busy voter's time.
  bool wait(int timeout_ms, std::vector<pollfd>& others);
  /// Whether there may be messages to read, as of the last wait() and the reads since.
  bool may_read(std::size_t index) const { return places_[index].ready; }
  bool may_have_events(Channel channel) const;
  ZmqZap::Refused refused() const { return zap_.has_value() ? zap_->refused() : ZmqZap::Refused(); }
  std::uint64_t ended_unfinished() const { return accepted_.ended_unfinished(); }
  std::vector<std::string> take_plain_peers() { return zap_->take_plain_peers(); }

 private:
  void make_socket(SocketIndex index);
  void lock(SocketIndex index, const LinkKeys& own);
  void make_monitor(SocketIndex index);
  Status listen_on(const ZmqTransport::Options& options);
  void bind_tcp(SocketIndex index, int fd);
  Status bind_cli(const std::string& path);
  bool receive(std::size_t place, zmq::message_t& frame);
  zmq::socket_t& socket_at(std::size_t place);
  bool look(std::size_t place);

  /// The descriptor of a libzmq socket shows changes only, and each question to libzmq clears it.
  /// Therefore wait() asks a socket after its descriptor fired, and after each call on the socket.
  struct Place {
    int fd = -1;
    bool touched = true;
    bool ready = true;
  };

  /// The identity of the file of the CLI's socket.
  struct FileId {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const FileId&) const = default;
  };
  static std::optional<FileId> file_at(const std::string& path);

  std::optional<FileId> cli_file_;
  bool is_cli_bound_ = false;
  AcceptedConnections accepted_;
  zmq::context_t context_;
  std::optional<ZmqZap> zap_;  ///< Ends after the sockets it watches, before the context.
  std::array<zmq::socket_t, kSocketCount> sockets_;
  std::array<zmq::socket_t, kWaitedCount - kSocketCount> monitors_;  ///< Of the two out sockets.
  std::array<Place, kWaitedCount> places_;
  /// libzmq accepts on copies of these. They close first, so that no peer waits while the rest
  /// ends.
  std::array<TcpListener, AcceptedConnections::kListeners> listeners_;
};

}  // namespace muster::gossip
