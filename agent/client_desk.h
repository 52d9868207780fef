#pragma once
// Where clients' requests are answered, passed on, and matched with their answers. It knows routes
// and nonces, never the meaning of a verb: what is answered here and what elsewhere is said by the
// Node when it hands a request in.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/client_api.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "gossip/message.h"
#include "gossip/transport.h"

namespace muster::agent {

/// Who asked: what an answer must carry back.
struct Asker {
  gossip::Route route;
  Nonce nonce;
  std::string trailing;  ///< Unknown elements of the asker's envelope, returned whole.
  std::size_t trailing_count = 0;
};

class ClientDesk {
 public:
  /// A request passed on is given up after this long: the client retries.
  static constexpr Duration kForwardTimeout = std::chrono::seconds(5);
  /// Questions under way, of all clients together. One more is refused.
  static constexpr std::size_t kOpenMax = 1024;

  explicit ClientDesk(Rng rng) : rng_(rng) {}

  /// Remembers a question that someone else answers later. Nothing when too many are open.
  /// The number names it: as the nonce of a forwarded request, or as a submit's request number.
  /// `asked` is the host that a request was passed on to; zero = this one.
  std::optional<std::uint64_t> open(Instant now, Asker asker, Request request,
                                    HostId asked = HostId());
  /// The asker of an open question, which is closed by this. Nothing when unknown or given up.
  struct Open {
    Asker asker;
    Request request;
    HostId asked;
  };
  std::optional<Open> close(std::uint64_t number);
  /// Questions whose time has run out, closed by this.
  std::vector<Open> expire(Instant now);
  /// Questions passed on to a host that will not answer them any more, closed by this.
  std::vector<Open> give_up(HostId asked);
  Instant next_deadline() const;

 private:
  struct Waiting {
    Open open;
    Instant deadline;
  };
  template <class IsOver>
  std::vector<Open> close_if(IsOver is_over);

  std::map<std::uint64_t, Waiting> waiting_;
  Rng rng_;
};

}  // namespace muster::agent
