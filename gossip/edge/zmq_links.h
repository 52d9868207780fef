#pragma once
// ZmqLinks holds the links of a ZmqTransport: it dials them, with the right keys, and finds out how
// each ends. Only zmq_transport.cc includes it; zmq_transport.h has the rules. No call blocks.

#include <poll.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/time.h"
#include "gossip/edge/admitted_keys.h"
#include "gossip/edge/expected_keys.h"
#include "gossip/edge/tcp_knock.h"
#include "gossip/edge/zmq_sockets.h"
#include "gossip/edge/zmq_transport.h"
#include "gossip/wire/transport.h"

namespace muster::gossip {

struct ZmqLink {
  enum class State {
    kDialing,  ///< Until the handshake succeeded or `deadline` passed.
    kUp,
    kEnding,   ///< The connection ended; the knock finds out how.
    kResting,  ///< It was refused and its end reported; at `deadline` a send may dial again.
  };

  std::string id;  ///< The dial's routing id.
  State state = State::kDialing;
  bool is_proven = false;    ///< The handshake succeeded.
  bool is_refused = false;   ///< The peer said that it does not admit our key.
  bool has_to_rest = false;  ///< It refused, and we have no other key that it might admit.
  Instant deadline = kNever;
  LinkLoss loss = LinkLoss::kTimeout;  ///< The loss to report at `deadline`.
  /// Descriptors of connections to this endpoint since the dial. A dial abandoned just before may
  /// still report one: then the end of either ends the link, which costs a redial at worst.
  std::vector<int> fds;
  std::optional<TcpKnock> knock;
  Instant up_at{};  ///< When its handshake succeeded.
  Instant used{};   ///< When it last carried a message, in either direction.

  /// The peer's kernel took the connection, and the proofs are on their way.
  bool is_shaking_hands() const { return state == State::kDialing && !fds.empty(); }
  /// The link carries no messages any more.
  bool is_over() const { return state == State::kEnding || state == State::kResting; }
};

class ZmqLinks {
 public:
  /// All arguments outlive this; `sockets` may be opened later.
  ZmqLinks(const ZmqTransport::Options& options, const AdmittedKeys& admitted, ZmqSockets& sockets,
           ZmqTransport::Stats& stats)
      : options_(options), admitted_(admitted), sockets_(sockets), stats_(stats) {}

  void send(const Send& send);
  /// Closes the link. A link that rests may be dialled again.
  void drop(const Endpoint& peer);
  /// As ZmqTransport::drop().
  void give_up(const Endpoint& peer);
  void drop_all();
  /// As ZmqTransport's of the same name.
  void expect(const Expect& expect);
  void dial_with(const DialWith& with);
  /// Removes a key that no host has any more: links to it end, and no endpoint expects it.
  void take_out(std::string_view key);

  /// Sets the link and the sender of a message that came in on this dial. False if the link is
  /// gone: then there is no proof of the sender.
  bool attribute(const std::string& id, Received& received);

  /// The LinkUp and LinkDown since the last call.
  std::vector<TransportInput> take_events(Instant now);
  bool has_events() const { return !pending_.empty(); }
  /// When take_events() has work even if no event comes.
  Instant next_deadline() const;
  /// Adds the descriptors that take_events() waits for.
  void add_descriptors(std::vector<pollfd>& others) const;

 private:
  using LinkKey = std::pair<Channel, Endpoint>;
  using Links = std::map<LinkKey, ZmqLink>;

  const LinkKeys* own_keys(const Endpoint& at) const;
  Links::iterator dial(const LinkKey& key);
  void drop(Links::iterator link);
  bool make_room(Instant now);
  Links::iterator close_idle(Links::iterator link);
  void begin_end(Links::iterator link, Instant now);
  void finish(Links::iterator link, LinkLoss loss);
  void read_monitor(Channel channel, Instant now);
  void on_event(Channel channel, const MonitorEvent& event, Instant now);
  void on_handshake(Links::iterator link);
  void on_refused(Links::iterator link);
  void on_connecter_closed(ZmqLink& link, const Endpoint& peer);
  void run_timers(Instant now);
  void look_at(Links::iterator link, Instant now);
  void look_at_dial(Links::iterator link, Instant now);
  void look_at_end(Links::iterator link, Instant now);

  const ZmqTransport::Options& options_;
  const AdmittedKeys& admitted_;
  ZmqSockets& sockets_;
  ZmqTransport::Stats& stats_;
  ExpectedKeys expected_;
  DialWith::Key dials_with_ = DialWith::Key::kLink;
  std::set<Endpoint> knows_previous_;  ///< Peers that refused our key: try the previous one.
  Links links_;
  std::set<LinkKey> unsettled_;  ///< Of links_: those that are not up.
  Instant idle_look_at_{};
  std::map<std::string, LinkKey> dialled_;  ///< Of links_, by the dial's routing id.
  std::uint64_t last_dial_ = 0;
  std::vector<TransportInput> pending_;  ///< Events that were not taken yet.
};

}  // namespace muster::gossip
