#pragma once
// The five libzmq sockets of a ZmqTransport and how they are set up; includes zmq.hpp and is
// included by zmq_links and zmq_transport.cc alone. Knows frames and monitor events, nothing of
// links or routes. Nothing here throws or blocks. TCP speaks CURVE: both ends of a connection prove
// their key, the dialled one to the dialler, the dialler to the ZmqZap.

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
/// The monitors of the two out sockets come behind the sockets where all are waited for.
inline constexpr std::size_t kWaitedCount = kSocketCount + 2;

SocketIndex in_of(Channel channel);
SocketIndex out_of(Channel channel);
bool is_out(std::size_t index);
/// Where the listener of an `in` socket stands among them.
std::size_t listener_at(std::size_t index);
Channel channel_of(std::size_t index);

enum class SendOutcome { kSent, kQueueFull, kUnreachable };
/// kNoise: a large frame that begins as no message does. Its connection is ended.
enum class ReadOutcome { kMessage, kMalformed, kNoise, kNothing };

struct Incoming {
  std::string id;  ///< The routing id of the connection.
  std::string bytes;
  /// What libzmq says of who spoke (gossip/edge/proof_text.h): the User-Id on an `in` socket, the
  /// Peer-Address on the CLI's, "" on an `out` socket.
  std::string proof;
  int fd = -1;  ///< The connection's descriptor when it came in; it may be closed by now.
};

/// What libzmq's io thread says of a connection: `value` is a descriptor for the kinds we ask for,
/// but 0 for HANDSHAKE_SUCCEEDED and a status for HANDSHAKE_FAILED_AUTH. The routing id is not
/// told.
struct MonitorEvent {
  int kind = 0;
  int value = 0;
  Endpoint peer;
};

class ZmqSockets {
 public:
  ZmqSockets();
  /// Makes and binds all of them; errors as ZmqTransport::open(). Lets in whom `keys` knows, which
  /// outlives this.
  Status open(const ZmqTransport::Options& options, const AdmittedKeys& keys);
  Endpoint listening(Channel channel) const {
    return listeners_[listener_at(in_of(channel))].endpoint();
  }
  /// Proves `own` to whoever comes in from now on, and ends all that came in. False when there is
  /// no descriptor for it: then nothing has changed.
  bool rekey(const LinkKeys& own);

  /// To be asked about once a second. The CLI's socket is made again where a cleaner of temporary
  /// files, or anybody else, took it away: let go at one call and bound at a later one, for libzmq
  /// removes the path as it lets go, in a thread of its own. True when it is there again.
  bool renew_cli(const std::string& path);

  /// Dials as `own`, and only him who proves `expected`. False when libzmq refuses at once: no
  /// descriptor, no such address. `id` is never used again.
  bool connect(Channel channel, const std::string& id, const Endpoint& peer, const LinkKeys& own,
               const std::string& expected);
  void disconnect(Channel channel, const Endpoint& peer);
  SendOutcome send(std::size_t index, const std::string& id, const std::string& bytes);
  ReadOutcome read(std::size_t index, Incoming& message);
  std::optional<MonitorEvent> next_event(Channel channel);
  /// Sleeps until something can be read here, `others` have events, or the time is over. False only
  /// in the last case. zmq_poll would do, but it asks libzmq about every socket twice, at two
  /// system calls each; that was a tenth of a busy voter's time.
  bool wait(int timeout_ms, std::vector<pollfd>& others);
  /// Something may be there to read, as of the last wait(), and not everything was read since.
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

  /// libzmq's descriptor tells of changes only, and asking libzmq takes the news off it. So a
  /// socket must be asked after its descriptor fired and after each call that may have taken news.
  struct Place {
    int fd = -1;
    bool touched = true;
    bool ready = true;
  };

  /// Which file the CLI's socket is.
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
  /// libzmq accepts on copies. They close first: nobody is kept waiting while the others end.
  std::array<TcpListener, AcceptedConnections::kListeners> listeners_;
};

}  // namespace muster::gossip
