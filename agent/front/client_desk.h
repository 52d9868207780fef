#pragma once
// ClientDesk matches the open requests of clients with the answers that other hosts, or later
// steps, give. It knows routes and nonces and never the meaning of a verb: the Node decides which
// host answers a request.

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/api/request.h"
#include "agent/front/asker.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transport.h"

namespace muster::agent {

class ClientDesk {
 public:
  /// The desk gives up a request that it passed on after this time: the client retries.
  static constexpr Duration kForwardTimeout = std::chrono::seconds(5);
  /// Open requests of all clients together. The desk refuses one more.
  static constexpr std::size_t kOpenMax = 1024;

  /// Changes from other nodes whose copies the desk recognises. With a lower number it takes a very
  /// late copy for a new request.
  static constexpr std::size_t kCopiesKnownMax = 4096;

  explicit ClientDesk(Rng rng) : rng_(rng) {}

  struct Open {
    Asker asker;
    Request request;
    HostId asked = HostId();  ///< The host that it was passed on to; zero = this host.
    /// If this leader steps down, the node asks the next one.
    bool follows_leader = false;
    /// No host could be asked yet: the node asks the first leader that it knows.
    bool waits = false;
    /// An earlier leader was asked and may have done it: a refusal is not certain.
    bool is_repeated = false;
  };
  /// Keeps a question that is answered later. nullopt if kOpenMax are open. The number names the
  /// question: it is the nonce of a forwarded request, or the request number of a submission.
  std::optional<std::uint64_t> open(Instant now, Open question,
                                    Duration patience = kForwardTimeout);
  /// Closes and returns an open question. nullopt if it is unknown or was given up.
  std::optional<Open> close(std::uint64_t number);
  /// Closes and returns the questions that were passed on to another leader than `leader`, or that
  /// waited for a leader.
  std::vector<Open> take_back(HostId leader);
  /// Closes and returns the questions whose time has run out.
  std::vector<Open> expire(Instant now);
  /// Closes and returns the questions passed on to a host that no longer answers.
  std::vector<Open> give_up(HostId asked);
  Instant next_deadline() const;
  /// True if `from` passed on a request with this nonce before: the network made a copy of it.
  /// Every request has a new nonce.
  bool is_copy(HostId from, Nonce nonce);

 private:
  using PassedOn = std::pair<HostId, Nonce>;
  struct Waiting {
    Open open;
    Instant deadline;
  };
  template <class IsOver>
  std::vector<Open> close_if(IsOver is_over);

  std::map<std::uint64_t, Waiting> waiting_;
  std::set<PassedOn> passed_on_;
  std::deque<PassedOn> passed_on_in_order_;  ///< The oldest first.
  Rng rng_;
};

}  // namespace muster::agent
