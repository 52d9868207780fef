#pragma once
// Whether another agent lives under this host's id: a copied data directory, a cloned disk. The
// same id at two places is an alarm and both are refused, because neither can tell which
// of them holds the grants that the log knows.
//
// A row or a message under the own id is a hint, and anyone can write one; an earlier life of this
// very agent may have left it, too. So it is asked: a probe with a fresh nonce goes to that place,
// or back on that connection, and only an ack to an outstanding nonce is proof that somebody there
// lives under this id. Whoever is asked so asks back, so both come to know. An own probe that comes
// back (an alias among the seeds) is known by its nonce.

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

/// A place is asked this often, and believed to be empty after so long without an answer.
inline constexpr Duration kIdAskPeriod = std::chrono::milliseconds(500);
inline constexpr Duration kIdAnswerWait = std::chrono::seconds(2);
/// Outstanding nonces; beyond it nobody is asked.
inline constexpr std::size_t kIdNoncesMax = 16;

class IdWatch {
 public:
  /// Where a message under the own id came from, and hence where an answer goes.
  struct Way {
    gossip::Route route;  ///< 0: it came in on a link of ours, to `link`.
    gossip::Endpoint link;
  };
  /// A probe or an ack to be sent under the own id.
  struct Say {
    Way to;
    gossip::MessageType type = gossip::MessageType::kProbe;
    Nonce nonce;
  };

  IdWatch(gossip::Endpoint own, Rng rng) : own_(own), rng_(rng) {}

  /// A row under the own id has this identity. One of another start names a place, unless it is
  /// that of an earlier life here.
  void seen(Instant now, std::string_view identity, StartId own_start);
  void seen_at(Instant now, const gossip::Endpoint& place);
  /// A message under the own id.
  void heard(Instant now, gossip::MessageType type, Nonce nonce, const Way& way);
  /// Somebody knows of a later life under the own id. Its row may be on its way: `is_asking()` as
  /// long as an answer may take, once a start.
  void suspect(Instant now);
  void tick(Instant now);
  Instant next_deadline() const;
  /// Drains what is to be said.
  std::vector<Say> take_says();

  /// An answer may still come: what a second agent would be no reason for waits as long.
  bool is_asking() const { return place_.has_value() || row_awaited_until_ != kNever; }
  /// Somebody answered. Stays so.
  bool is_doubled() const { return doubled_; }

 private:
  void ask(Instant now, const Way& way);

  gossip::Endpoint own_;
  Rng rng_;
  std::optional<gossip::Endpoint> place_;  ///< Being asked.
  Instant ask_at_ = kNever;
  Instant give_up_at_ = kNever;
  Instant ask_back_from_;
  bool suspects_ = false;
  Instant row_awaited_until_ = kNever;
  std::set<Nonce> nonces_;
  Instant forget_at_ = kNever;  ///< When the nonces are too old to prove anything.
  bool doubled_ = false;
  std::vector<Say> says_;
};

/// The encoded body of what is to be said.
std::string body_of(const IdWatch::Say& say);

}  // namespace muster::agent
