#pragma once
// ZmqTransport is the production transport: ZeroMQ over TCP, and unix sockets for the CLI. In
// the product only gossip/edge/zmq_* includes libzmq. Owned and used by one thread, that of the
// event loop:
//
//   while (running) {
//     transport->wait(timeout, fds);
//     for (TransportInput& input : transport->take_inputs()) node.step(now, ...);
//     ... transport->send(...), reply(...), drop(...) for the node's outputs
//   }
//
// Over TCP both ends of a connection prove a link key (CURVE): the dialler knows the key of the
// host it dials, and the listener lets in only admitted keys. There is no mode without keys. On the
// sockets of the CLI the kernel names the user. Therefore each message has a proven sender, with
// one exception: a link to a key that is expected but not (yet) admitted brings messages of
// kNobody. That is how a newcomer hears the answer to its Join. A message without proof is dropped
// and counted.
//
// Control and bulk have two ROUTER sockets each: `in` is bound, `out` dials. Each dial has a
// routing id that is never used again, and libzmq never redials: a link that ends is reported once,
// and the next send() dials again. Only wait() blocks. A message is one frame behind the routing
// id; any other form is dropped and counted.
//
// Inbound handshakes run on an io thread of their own: even a flood of them delays none of our
// dials and probes. At most kUnfinishedMax are under way (accepted_connections.h); tickets are let
// in at a pace (join_pace.h). The CLI has an io thread, too. Other logins reach it through a
// LoginRelay, which limits them.
//
// How a link ends:
//   refused  the peer's kernel answered with a reset and no process listens (within milliseconds)
//   reset    an established connection ended but the peer listens: a redial will do
//   timeout  no connection within kDialTimeout, no handshake within kHandshakeTimeout, or silence
//            after an end; also, at once, if the peer refused the handshake: it does not admit our
//            key, which is no sign of a dead host
//   unproven the peer listens and the handshake failed, at once: it has another key than expected;
//            or no key is expected there, and there was no link
// A DropLink is not reported as LinkDown. Messages queued on a link that ends are lost.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "gossip/edge/link_keys.h"
#include "gossip/edge/login_listener.h"
#include "gossip/wire/transport.h"

namespace muster::gossip {

/// Limit from the dial to a connection.
inline constexpr Duration kDialTimeout = std::chrono::milliseconds(1500);
/// Limit from the connection to the end of the handshake. A handshake costs each side half a
/// millisecond of CPU. A host that many dial at once takes a while, and a dialler that gives up and
/// dials again makes it longer.
inline constexpr Duration kHandshakeTimeout = std::chrono::seconds(3);
/// Pause before the next dial to a peer that does not admit our key: it may have to hear of us
/// first. Messages to it are dropped meanwhile. There is no pause if our previous key is still to
/// be tried.
inline constexpr Duration kRefusedRest = std::chrono::milliseconds(500);
/// Age below which DropLink does not close a link: its peer has just proven that it is there, and
/// may be too busy to answer. Raised: a peer that is cut off right after its handshake is dialled
/// again later. Lowered: after a cut, busy hosts dial each other again and again.
inline constexpr Duration kYoungLink = std::chrono::seconds(1);
/// A link that carried no message for so long is closed, without a LinkDown; the next send dials
/// again.
inline constexpr Duration kLinkIdleMax = std::chrono::seconds(60);
/// Above links_max the link that was idle longest makes room, if it was idle for at least this:
/// its messages have left by then.
inline constexpr Duration kLinkIdleMin = std::chrono::seconds(1);
/// Limit of the wait for an answer to the knock after a lost link.
inline constexpr Duration kKnockTimeout = std::chrono::milliseconds(300);
/// Time between two tries of a rekey() that found no descriptor, and between two rekeys: a libzmq
/// socket that is unbound right after its bind may forget to close the listener, which then serves
/// with its old key (measured, once in some thousand times).
inline constexpr Duration kRekeyRetry = std::chrono::milliseconds(50);
/// A larger frame that does not begin as a message does ends its connection. A smaller one goes to
/// decode(): it fills no memory.
inline constexpr std::size_t kSmallFrameBytes = 4096;
/// Time between two looks whether the socket of the CLI is still there.
inline constexpr Duration kCliLookPeriod = std::chrono::seconds(1);

class ZmqTransport {
 public:
  struct Options {
    Endpoint control;  ///< Listens here; port 0 = any.
    Endpoint bulk;     ///< Listens here; port 0 = any.
    /// False: there is no port, and no peer can come in over TCP. Links and the CLI's socket work.
    bool listens = true;
    LinkKeys link;  ///< The pair with which this host proves itself at first, both ways.
    /// The pair before: dials try it where `link` is refused. rekey() sets it.
    std::optional<LinkKeys> previous_link{};
    std::optional<LinkKeys> ticket;  ///< For DialWith{kTicket}.
    std::string ipc_path;            ///< Unix socket of the CLI, of mode 0600. "" = no socket.
    /// Where other logins come in (login_relay.h); outlives the transport, which takes up each
    /// renewal of it within kCliLookPeriod. nullptr, or not open = nowhere.
    const LoginListener* logins = nullptr;
    /// Limit of the wait at the end for answers to the CLI that are on their way.
    Duration last_answers{0};
    /// Limit of the links, over both channels. A Send above it is dropped unless an idle link makes
    /// room. A link costs a descriptor and about 30 KB; the leader needs 256.
    std::size_t links_max = 1024;
    /// Limit of the inbound connections that can be answered: one for each host, some for clients.
    std::size_t routes_max = 20'000;
    /// Limit of the messages of one take_inputs(), so that timers get their turn in a flood.
    std::size_t messages_per_turn = 512;
    /// Size after which take_inputs() takes no further message.
    std::size_t bytes_per_turn = 256 << 10;
    /// As kYoungLink; tests of redials set it to zero.
    Duration young_link = kYoungLink;
  };

  /// Counts of messages, links and handshakes. Each drop is counted here and nowhere else.
  struct Stats {
    std::uint64_t received = 0;
    std::uint64_t sent = 0;
    std::uint64_t dials = 0;
    std::uint64_t links_up = 0;
    std::uint64_t links_down = 0;
    std::uint64_t dropped_malformed = 0;  ///< Inbound: not exactly one non-empty frame.
    std::uint64_t dropped_noise = 0;  ///< Inbound: large and no message; its connection is ended.
    std::uint64_t dropped_too_large = 0;    ///< Outbound, above kMessageBytesMax or empty.
    std::uint64_t dropped_queue_full = 0;   ///< Outbound, the link's queue is full.
    std::uint64_t dropped_no_route = 0;     ///< Replies to closed or forgotten connections.
    std::uint64_t dropped_link_ending = 0;  ///< Sends on a link whose end is being classified.
    std::uint64_t dropped_links_full = 0;   ///< Sends beyond links_max.
    std::uint64_t closed_idle = 0;          ///< Links closed as idle.
    std::uint64_t dropped_no_key = 0;       ///< Sends without an expected key or a key of our own.
    /// Inbound: there is no proof of the sender, or its key is no longer admitted and its
    /// connection is ended. Or it came on a link that we dropped.
    std::uint64_t dropped_unproven = 0;
    std::uint64_t dropped_keys_full = 0;  ///< Admit or Expect: one key too many, or not a key.
    /// Inbound handshakes refused: proven, but not admitted; without keys; broken or made for
    /// another key than ours. A peer that hangs up first is not counted.
    std::uint64_t refused_unknown_key = 0;
    std::uint64_t refused_no_curve = 0;
    std::uint64_t refused_malformed = 0;
    std::uint64_t refused_early_tickets =
        0;                               ///< More a second from one address than JoinPace lets in.
    std::uint64_t ended_unfinished = 0;  ///< Handshakes beyond kUnfinishedMax.
    std::uint64_t refused_by_peer = 0;   ///< Our own dials whose key the peer does not admit.
    std::uint64_t refused_logins = 0;    ///< Connections of logins beyond their limit or pace.
    std::uint64_t failed_logins = 0;     ///< Connections of logins that could not be passed on.
    std::uint64_t held_logins = 0;       ///< Times that a login waited for its pace of messages.
    std::uint64_t cli_renewed = 0;       ///< Times the CLI's socket was removed and made again.
    std::uint64_t rekeys = 0;
    std::uint64_t rekeys_put_off = 0;  ///< Tries that found no descriptor, or came too early.
    bool operator==(const Stats&) const = default;
  };

  /// kConflict: a port is taken (the text names it and what to do). kInvalid: not an address of
  /// this host, no link keys, or the socket's path is too long. kIo: no descriptors, no permission.
  static Result<std::unique_ptr<ZmqTransport>> open(Options options);
  ~ZmqTransport();
  ZmqTransport(const ZmqTransport&) = delete;
  ZmqTransport& operator=(const ZmqTransport&) = delete;

  /// Our endpoints, with their real ports; is_none() if we do not listen.
  Endpoint control_endpoint() const;
  Endpoint bulk_endpoint() const;

  void send(const Send& send);
  void reply(const Reply& reply);
  /// Closes the links, so that the next send dials again. A link that shakes hands, rests or is
  /// younger than young_link stays.
  void drop(const DropLink& drop);
  /// At most kAdmittedKeysMax keys. The change counts for open connections, too. kNobody: inbound
  /// connections of the key end at once if they carried a message, else at their first message.
  /// Links to where the key was expected are dropped, and no endpoint expects it any more.
  void admit(const Admit& admit);
  /// At most kExpectedKeysMax endpoints. Another key than before drops the link to there.
  void expect(const Expect& expect);
  /// The first key is the link key. A change drops all links: the next send dials with the other.
  void dial_with(const DialWith& with);
  /// Proves itself with this pair (are_keys()) from now on, both ways, on the same ports. All
  /// connections end in the same step. Inbound ones end at once, so that their peers see an end and
  /// dial again. Links end as by drop(), so that the next send dials with the new pair. Routes to
  /// hosts end; routes of the CLI stay. The ports stay bound, so that no peer is refused: a host
  /// that dials meanwhile waits and meets the new key, or, in the first millisecond, is ended and
  /// dials once more. If no descriptor is left, or the last rekey was just before, the old pair
  /// stays and take_inputs() tries again after kRekeyRetry; wait() ends in time for it.
  void rekey(LinkKeys link);

  /// Sleeps until take_inputs() may have inputs, one of `extra_fds` is readable, or `timeout` has
  /// passed. True in the first two cases. Our own timers cut the sleep short.
  bool wait(Duration timeout, std::span<const int> extra_fds = {});
  /// Whether the last wait() found this one of its extra descriptors readable.
  bool readable(int extra_fd) const;
  /// The inputs since the last call: links first, then messages in the order of each connection.
  std::vector<TransportInput> take_inputs();

  const Stats& stats() const;
  /// The addresses of peers without keys, each once, at most PlainPeers::kNamedMax of them.
  std::vector<std::string> take_plain_peers();

 private:
  class Impl;
  explicit ZmqTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::gossip
