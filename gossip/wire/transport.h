#pragma once
// What a Node tells the transport and hears from it. Production (gossip/edge/zmq_transport) and the
// simulator's network implement both sides; neither shows a socket to a machine.
//
// A link is an outgoing connection, named by the endpoint dialled; sending dials when there is
// none. Answers travel back on the connection the question came in on, named by its Route.

#include <cstdint>
#include <string>
#include <variant>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"

namespace muster::gossip {

/// Control carries probes, evidence, raft with the parts of its snapshots, and commands to agents;
/// bulk carries output of ranks, which so never delays an ack.
enum class Channel : std::uint8_t { kControl, kBulk };

/// An inbound connection, valid while it lasts; answers to a closed one are dropped. 0 = none:
/// the message came in on a link of ours and no answer by route is possible.
using Route = Strong<struct RouteTag>;

enum class LinkLoss : std::uint8_t {
  kRefused,  ///< The kernel there answers, but nobody listens.
  kReset,    ///< An established connection ended; a dial has not been refused since.
  kTimeout,  ///< The dial timer ran out: silence.
  /// Somebody listens there, and does not prove to be who is expected; or nobody is expected there,
  /// and so nothing was dialled. No news of any host.
  kUnproven,
};

/// A host's key for its links (X25519), or that which a ticket's secret makes; both in raw form.
inline constexpr std::size_t kLinkKeyBytes = 32;

/// Who is at the other end of a connection, as the keys of its handshake prove it.
struct Sender {
  enum class Kind : std::uint8_t {
    kNobody,  ///< Nothing was proven.
    kHost,    ///< A member: `host`.
    kTicket,  ///< Who holds the secret of a ticket: `ticket` is its public link key.
    kLogin,   ///< A process on this machine, of `uid`; on the socket of the CLI.
  };
  Kind kind = Kind::kNobody;
  HostId host{};
  std::string ticket{};
  std::uint32_t uid = 0;
  bool operator==(const Sender&) const = default;
};

struct Received {
  Route route;
  Channel channel = Channel::kControl;
  std::string bytes;
  Endpoint link = {};  ///< What was dialled, when it came in on a link of ours; else none.
  Sender sender = {};
  Instant at = kNever;       ///< When it arrived, by this host's clock; kNever = just now.
  bool is_answered = false;  ///< A Probe that membership's reflex answered already.
};
struct LinkUp {
  Endpoint peer;
};
struct LinkDown {
  Endpoint peer;
  LinkLoss loss = LinkLoss::kTimeout;
};
using TransportInput = std::variant<Received, LinkUp, LinkDown>;

/// To the endpoint of that channel: the control port or the bulk port of the host.
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
/// Who proves to hold this link key comes in as `who` from now on. Nobody: it is refused, and its
/// connections, both ways, are ended at once.
struct Admit {
  std::string key;
  Sender who;
};
/// Who listens there proves to hold this link key, or there is no link; "" = it is not dialled.
struct Expect {
  Endpoint at;
  std::string key;
};
/// Which key new links are dialled with.
struct DialWith {
  enum class Key : std::uint8_t { kLink, kTicket };
  Key key = Key::kLink;
};
/// This host proves itself by the pair of this seed from now on, both ways; every connection ends
/// and is dialled anew.
struct Rekey {
  std::string link_seed;
};
using TransportOutput = std::variant<Send, Reply, DropLink, Admit, Expect, DialWith, Rekey>;

}  // namespace muster::gossip
