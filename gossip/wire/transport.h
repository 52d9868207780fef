#pragma once
// TransportInput and TransportOutput are the interface between a Node and its transport. Production
// (gossip/edge/zmq_transport) and the simulator's network implement it; no machine sees a socket.
//
// A link is an outgoing connection, named by the endpoint dialled. A Send dials if there is no
// link. An answer travels back on the connection of its question, named by its Route.

#include <cstdint>
#include <string>
#include <variant>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"

namespace muster::gossip {

/// Control carries probes, evidence, raft with the parts of its snapshots, and commands to agents;
/// bulk carries output of ranks. Therefore output never delays an ack.
enum class Channel : std::uint8_t { kControl, kBulk };

/// An inbound connection, valid while it lasts. The transport drops answers to a closed one. 0 = no
/// route: the message came in on a link of ours, and no answer by route is possible.
using Route = Strong<struct RouteTag>;

enum class LinkLoss : std::uint8_t {
  kRefused,  ///< The peer's kernel answers, but no process listens.
  kReset,    ///< An established connection ended; a dial has not been refused since.
  kTimeout,  ///< The dial timer ran out: silence.
  /// A process listens there and does not prove the expected key. Or no key is expected there, so
  /// that the transport does not dial. It says nothing about any host.
  kUnproven,
};

/// Size of a link key (X25519) of a host, or made from a ticket's secret; both in raw form.
inline constexpr std::size_t kLinkKeyBytes = 32;

/// The peer at the other end of a connection, as its handshake, or the kernel, proves it.
struct Sender {
  enum class Kind : std::uint8_t {
    kNobody,  ///< The peer proved no identity.
    kHost,    ///< A member: `host`.
    kTicket,  ///< The holder of a ticket's secret: `ticket` is its public link key.
    kLogin,   ///< A process of the user `uid` on this machine; on a socket of the CLI.
    kBearer,  ///< A client of HTTPS: the access token that each of its requests shows is its proof.
  };
  Kind kind = Kind::kNobody;
  HostId host{};
  std::string ticket{};
  std::uint32_t uid = 0;
  /// Of a login: the name of `uid` on this machine, as the event loop resolves it. "" = the uid has
  /// no name, or nobody asked for it: the agent knows its own name and that of root.
  std::string login_name{};
  bool operator==(const Sender&) const = default;
};

struct Received {
  Route route;
  Channel channel = Channel::kControl;
  std::string bytes;
  Endpoint link = {};  ///< The endpoint dialled, if it came in on a link of ours; else none.
  Sender sender = {};
  Instant at = kNever;       ///< When it arrived, by this host's clock; kNever = just now.
  bool is_answered = false;  ///< A Probe that membership's reflex has answered.
};
struct LinkUp {
  Endpoint peer;
};
struct LinkDown {
  Endpoint peer;
  LinkLoss loss = LinkLoss::kTimeout;
};
using TransportInput = std::variant<Received, LinkUp, LinkDown>;

/// `to` is the port of that channel: the control port or the bulk port of the host.
struct Send {
  Endpoint to;
  Channel channel = Channel::kControl;
  std::string bytes;
};
struct Reply {
  Route route;
  std::string bytes;
};
/// Closes the link, unless its handshake is under way or has just succeeded; the next Send dials
/// again. After a cut the kernel's back-off would pass 10 s.
struct DropLink {
  Endpoint peer;
};
/// A peer that proves this link key comes in as `who` from now on. kNobody: the transport refuses
/// the key and ends its connections, both ways.
struct Admit {
  std::string key;
  Sender who;
};
/// The listener at `at` must prove this link key, else there is no link. "" = do not dial it.
struct Expect {
  Endpoint at;
  std::string key;
};
/// The key with which this host dials new links.
struct DialWith {
  enum class Key : std::uint8_t { kLink, kTicket };
  Key key = Key::kLink;
};
/// This host proves itself by the pair of this seed from now on, both ways. Every connection ends;
/// the next Send dials again.
struct Rekey {
  std::string link_seed;
};
using TransportOutput = std::variant<Send, Reply, DropLink, Admit, Expect, DialWith, Rekey>;

}  // namespace muster::gossip
