#pragma once
// Where clients' requests are answered, passed on, and matched with their answers. It knows routes
// and nonces, never the meaning of a verb: what is answered here and what elsewhere is said by the
// Node when it hands a request in.

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
  /// A request passed on is given up after this long: the client retries.
  static constexpr Duration kForwardTimeout = std::chrono::seconds(5);
  /// Questions under way, of all clients together. One more is refused.
  static constexpr std::size_t kOpenMax = 1024;

  /// Changes that other nodes passed on, of which later copies are known. Lower: a copy that comes
  /// very late is taken for a new request.
  static constexpr std::size_t kCopiesKnownMax = 4096;

  explicit ClientDesk(Rng rng) : rng_(rng) {}

  struct Open {
    Asker asker;
    Request request;
    HostId asked = HostId();  ///< The host that it was passed on to; zero = this one.
    /// Another leader may be asked instead when this one is none any more.
    bool follows_leader = false;
    /// Nobody could be asked yet: the first leader that is known is.
    bool waits = false;
    /// An earlier leader was asked, and may have done it: a refusal is no sure one.
    bool is_repeated = false;
  };
  /// Remembers a question that someone else answers later. Nothing when too many are open.
  /// The number names it: as the nonce of a forwarded request, or as a submit's request number.
  std::optional<std::uint64_t> open(Instant now, Open question,
                                    Duration patience = kForwardTimeout);
  /// The open question, which is closed by this. Nothing when unknown or given up.
  std::optional<Open> close(std::uint64_t number);
  /// Questions passed on to a leader that is not `leader`, and those that waited for one, closed by
  /// this.
  std::vector<Open> take_back(HostId leader);
  /// Questions whose time has run out, closed by this.
  std::vector<Open> expire(Instant now);
  /// Questions passed on to a host that will not answer them any more, closed by this.
  std::vector<Open> give_up(HostId asked);
  Instant next_deadline() const;
  /// True when `from` passed this very request on before, and the network made a copy of it. The
  /// nonce is drawn anew for every request.
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
  std::deque<PassedOn> passed_on_in_order_;  ///< Oldest first.
  Rng rng_;
};

}  // namespace muster::agent
