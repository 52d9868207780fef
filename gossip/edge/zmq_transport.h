#pragma once
// The production transport: ZeroMQ over TCP, and a unix socket for the CLI. The only place, with
// gossip/edge/zmq_client.cc, that knows libzmq. Owned and used by one thread, the event loop's:
//
//   while (running) {
//     transport->wait(timeout, fds);
//     for (TransportInput& input : transport->take_inputs()) node.step(now, ...);
//     ... transport->send(...), reply(...), drop(...) for the node's outputs
//   }
//
// Over TCP both ends of a connection prove a link key (CURVE): who dials knows the key of him he
// dials, who listens lets in only keys that were admitted. There is no mode without. On the CLI's
// socket the kernel says who it is. So everything received has a proven sender, with one exception:
// a link to a key that is expected but not admitted (yet) brings messages of kNobody; that is how a
// newcomer hears the answer to its Join. What nothing proves is dropped and counted.
//
// Control and bulk have two ROUTER sockets each: `in` is bound, `out` dials. Every dial has a
// routing id of its own that is never used again, and libzmq never redials: a link that ends is
// reported once, and the next send() dials anew. Nothing blocks but wait(). A message is one frame
// behind the routing id; anything else is dropped and counted.
//
// Handshakes of those who come in are done on an io thread of their own, so however many they are,
// they keep none of our dials and probes waiting. At most kUnfinishedMax are under way
// (accepted_connections.h); tickets are let in at a pace (join_pace.h).
//
// How a link ends:
//   refused  the peer's kernel answered with a reset and nobody listens (within milliseconds)
//   reset    an established connection ended but the peer listens: a redial will do
//   timeout  no connection within kDialTimeout, no handshake within kHandshakeTimeout, or silence
//            after an end; also, at once, when the peer refused the handshake: it does not admit
//            our key. That is no sign of a dead host.
//   unproven somebody listens and the handshake failed, at once: it has another key than expected;
//            or no key is expected there, and there was no link
// DropLink is not reported as LinkDown. Messages queued on a link that ends are lost.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "gossip/edge/link_keys.h"
#include "gossip/wire/transport.h"

namespace muster::gossip {

/// From the dial to a connection.
inline constexpr Duration kDialTimeout = std::chrono::milliseconds(1500);
/// From the connection to the end of the handshake. It costs either side half a millisecond of CPU:
/// who is dialled by many at once takes a while, and who gives up and dials anew makes it longer.
inline constexpr Duration kHandshakeTimeout = std::chrono::seconds(3);
/// Who does not admit our key is not dialled again for so long: it may have to hear of us first.
/// What is said to it meanwhile is dropped. Not so when our previous key is still to be tried.
inline constexpr Duration kRefusedRest = std::chrono::milliseconds(500);
/// A link that came up so lately is not given up (DropLink): its peer has just proven that it is
/// there, and may have too much to do to answer. Raised: a peer that is cut off right behind its
/// handshake is dialled again later; lowered: after a cut, hosts that are busy dial each other
/// again and again.
inline constexpr Duration kYoungLink = std::chrono::seconds(1);
/// A link that carried nothing for so long is closed; the next send dials anew. Nobody is told.
inline constexpr Duration kLinkIdleMax = std::chrono::seconds(60);
/// Beyond links_max the link that was idle longest makes room, when it was idle for this at least:
/// what was said on it has left by then.
inline constexpr Duration kLinkIdleMin = std::chrono::seconds(1);
/// How long the knock after a lost link may stay unanswered.
inline constexpr Duration kKnockTimeout = std::chrono::milliseconds(300);
/// Between two tries of a rekey() that found no descriptor, and between two rekeys: a libzmq socket
/// that is unbound right after it was bound may forget to close the listener, which then serves on
/// with the key it had (measured, once in some thousand times).
inline constexpr Duration kRekeyRetry = std::chrono::milliseconds(50);
/// A larger frame that begins as no message does ends its connection. Smaller ones are left to
/// whoever decodes them: they fill no memory.
inline constexpr std::size_t kSmallFrameBytes = 4096;
/// How often it is looked whether the CLI's socket is still there.
inline constexpr Duration kCliLookPeriod = std::chrono::seconds(1);

class ZmqTransport {
 public:
  struct Options {
    Endpoint control;  ///< Listens here; port 0 = any.
    Endpoint bulk;     ///< Listens here; port 0 = any.
    /// False: there is no port, nobody can come in over TCP. Links and the CLI's socket work.
    bool listens = true;
    LinkKeys link;  ///< What this host proves itself with, both ways, at first.
    /// What it proved itself with before: tried where `link` is refused. rekey() sets it.
    std::optional<LinkKeys> previous_link{};
    std::optional<LinkKeys> ticket;  ///< For DialWith{kTicket}.
    std::string ipc_path;            ///< Unix socket of the CLI, made with mode 0600. "" = none.
    /// When it is closed, answers to the CLI that are on their way may take so long.
    Duration last_answers{0};
    /// Links dialled at once, over both channels; a Send beyond is dropped unless an idle link
    /// makes room. A link costs a descriptor and about 30 KB; the leader needs 256.
    std::size_t links_max = 1024;
    /// Inbound connections that can be answered: each host may have one, and clients some.
    std::size_t routes_max = 20'000;
    /// Messages one take_inputs() returns at most, so that timers get their turn in a flood.
    std::size_t messages_per_turn = 512;
    /// ... and bytes, or one message.
    std::size_t bytes_per_turn = 256 << 10;
    /// As kYoungLink; tests of redials set it to zero.
    Duration young_link = kYoungLink;
  };

  /// Everything dropped is counted here and nowhere else.
  struct Stats {
    std::uint64_t received = 0;
    std::uint64_t sent = 0;
    std::uint64_t dials = 0;
    std::uint64_t links_up = 0;
    std::uint64_t links_down = 0;
    std::uint64_t dropped_malformed = 0;  ///< Inbound: not exactly one non-empty frame.
    std::uint64_t dropped_noise = 0;  ///< Inbound: large and no message; its connection is ended.
    std::uint64_t dropped_too_large = 0;    ///< Outbound, above kMessageBytesMax.
    std::uint64_t dropped_queue_full = 0;   ///< Outbound, the link's queue is full.
    std::uint64_t dropped_no_route = 0;     ///< Replies to closed or forgotten connections.
    std::uint64_t dropped_link_ending = 0;  ///< Sends on a link whose end is being classified.
    std::uint64_t dropped_links_full = 0;   ///< Sends beyond links_max.
    std::uint64_t closed_idle = 0;          ///< Links closed as idle.
    std::uint64_t dropped_no_key = 0;       ///< Sends to where no key is expected, or we have none.
    /// Inbound: nothing proves who said it, or the key is no longer admitted; its connection is
    /// ended. Or it came on a link that we dropped.
    std::uint64_t dropped_unproven = 0;
    std::uint64_t dropped_keys_full = 0;  ///< Admit or Expect: one key too many, or not a key.
    /// Inbound handshakes refused: proven, but not admitted; without keys; broken or made for
    /// another key than ours. Whoever hangs up first is not counted.
    std::uint64_t refused_unknown_key = 0;
    std::uint64_t refused_no_curve = 0;
    std::uint64_t refused_malformed = 0;
    std::uint64_t refused_early_tickets =
        0;                               ///< More a second from one address than JoinPace lets in.
    std::uint64_t ended_unfinished = 0;  ///< Handshakes beyond kUnfinishedMax.
    std::uint64_t refused_by_peer = 0;   ///< Our own dials that others do not admit.
    std::uint64_t cli_renewed = 0;       ///< Times its socket was taken away and made again.
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

  /// Where we listen, with the real ports; none when we do not.
  Endpoint control_endpoint() const;
  Endpoint bulk_endpoint() const;

  void send(const Send& send);
  void reply(const Reply& reply);
  /// The next send dials anew; but a handshake that is under way goes on.
  void drop(const DropLink& drop);
  /// At most kAdmittedKeysMax keys. The change counts for connections that are there, too. Nobody:
  /// inbound connections of the key that spoke are ended at once, others when they speak; links to
  /// where it was expected are dropped, and it is expected nowhere any more.
  void admit(const Admit& admit);
  /// At most kExpectedKeysMax endpoints. Another key than before drops the link to there.
  void expect(const Expect& expect);
  /// Begins with the link key. A change drops all links: the next send dials as the other one.
  void dial_with(const DialWith& with);
  /// Proves itself with this pair (are_keys()) from now on, both ways, on the ports it had. Every
  /// connection is ended in the same step: those that came in at once, whether or not they ever
  /// spoke, so that their peers see an end and dial anew; links as by drop(), so that the next send
  /// dials with the new pair. Routes to hosts do not work any more, those of the CLI do. No port is
  /// free in between, so nobody is refused: who dials meanwhile waits and meets the new key, or, in
  /// the first millisecond, is ended and dials once more. Where no descriptor is left for it, or
  /// the last one was just before, all stays as it was, and take_inputs() tries again after
  /// kRekeyRetry, for which wait() ends in time.
  void rekey(LinkKeys link);

  /// Sleeps until take_inputs() may have something, one of `extra_fds` is readable, or `timeout`
  /// has passed. True in the first two cases. Our own timers cut the sleep short.
  bool wait(Duration timeout, std::span<const int> extra_fds = {});
  /// Whether the last wait() found this one of its extra descriptors readable.
  bool readable(int extra_fd) const;
  /// What happened: links first, then messages in the order of each connection.
  std::vector<TransportInput> take_inputs();

  const Stats& stats() const;
  /// The addresses of peers without keys, each once, and not more than PlainPeers::kNamedMax.
  std::vector<std::string> take_plain_peers();

 private:
  class Impl;
  explicit ZmqTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::gossip
