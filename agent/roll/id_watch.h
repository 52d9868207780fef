#pragma once
// IdWatch finds out if another agent lives under this host's id, for example from a copied data
// directory or a cloned disk. One id at two places raises an alarm, and both agents end, because
// neither can tell which of them holds the grants that the log knows. Owned by Departure.
//
// A row or a message under the own id is only a hint: anyone can write one, and an earlier life of
// this agent may have left it. Therefore IdWatch sends a probe with a fresh nonce to that place, or
// back on that connection. Only an ack to an outstanding nonce proves that an agent there lives
// under this id. An agent that is asked asks back, so that both know. IdWatch recognises its own
// probe that comes back (an alias among the seeds) by its nonce.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transport.h"

namespace muster::agent {

/// Time between two probes to a place. After kIdAnswerWait without an ack the place counts as
/// empty.
inline constexpr Duration kIdAskPeriod = std::chrono::milliseconds(500);
inline constexpr Duration kIdAnswerWait = std::chrono::seconds(2);
/// The most outstanding nonces. IdWatch sends no further probe until they expire.
inline constexpr std::size_t kIdNoncesMax = 16;

class IdWatch {
 public:
  /// The way on which a message under the own id came in, and on which the answer goes back.
  struct Way {
    gossip::Route route;  ///< 0: it came in on a link of ours, to `link`.
    gossip::Endpoint link;
  };
  /// A probe or an ack to send under the own id.
  struct Say {
    Way to;
    gossip::MessageType type = gossip::MessageType::kProbe;
    Nonce nonce;
  };

  IdWatch(gossip::Endpoint own, Rng rng) : own_(own), rng_(rng) {}

  /// A row under the own id has this identity. If it is of another start, IdWatch asks at its
  /// address, unless an earlier life here left it.
  void seen(Instant now, std::string_view identity, StartId own_start);
  void seen_at(Instant now, const gossip::Endpoint& place);
  /// A message under the own id came in.
  void heard(Instant now, gossip::MessageType type, Nonce nonce, const Way& way);
  /// Another host knows of a later life under the own id, whose row may be on its way. Once per
  /// start, is_asking() becomes true for kIdAnswerWait.
  void suspect(Instant now);
  void tick(Instant now);
  Instant next_deadline() const;
  /// Takes the messages to send.
  std::vector<Say> take_says();

  /// True while an answer may still come. Until then the agent takes no higher generation.
  bool is_asking() const { return place_.has_value() || row_awaited_until_ != kNever; }
  /// True once another agent has answered, for the rest of this life.
  bool is_doubled() const { return doubled_; }

 private:
  void ask(Instant now, const Way& way);

  gossip::Endpoint own_;
  Rng rng_;
  std::optional<gossip::Endpoint> place_;  ///< The place that is being asked.
  Instant ask_at_ = kNever;
  Instant give_up_at_ = kNever;
  Instant ask_back_from_;
  bool suspects_ = false;
  Instant row_awaited_until_ = kNever;
  std::set<Nonce> nonces_;
  Instant forget_at_ = kNever;  ///< From then on the nonces are too old to prove anything.
  bool doubled_ = false;
  std::vector<Say> says_;
};

/// The encoded body of a message to send.
std::string body_of(const IdWatch::Say& say);

}  // namespace muster::agent
