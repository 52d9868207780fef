#pragma once
// SeedKeys chooses the link key to expect at a seed. A dial needs the key of the host that listens
// there. Rows give it if one names the address, but no row names a host that came back under
// another address. If a host listens at a seed and does not prove the expected key, SeedKeys tries
// the keys of the members one after the other. Members that may vote come first, for most seeds do.
// Owned by SeedGreeting.
//
// At an address that a row names, every second try is the key of its owner: the host that was there
// last comes back sooner than another host comes.
//
// Limits: one key per greeting of a seed, so at most two a second. At a seed that is silent or
// refused SeedKeys tries no other key. The tries go through the roll and begin again behind its
// end.

#include <map>
#include <string>

#include "agent/roll/roll.h"
#include "agent/step/outbox.h"
#include "gossip/base/ids.h"
#include "gossip/wire/endpoint.h"
#include "gossip/wire/transport.h"

namespace muster::agent {

class SeedKeys {
 public:
  /// A message of a member came in on that link.
  void on_heard(const gossip::Endpoint& link);
  /// True if a member's message came in from there in this life, since the last dial there failed.
  /// The addresses in rows are older than that.
  bool has_heard(const gossip::Endpoint& seed) const;
  /// A link to a seed ended.
  void on_link_down(const gossip::LinkDown& lost);
  /// The node is about to greet `seed`, where no member is met. The row of `owner` names its
  /// address; zero = no row does. Tells the transport the key of the next host, if one has its
  /// turn.
  void choose(const gossip::Endpoint& seed, HostId owner, const Roll& roll, Outbox& outbox);

 private:
  struct Turn {
    HostId host;  ///< The host whose key is expected; zero = as the rows say.
    std::string key{};
    HostId behind{};     ///< The last host, owners left out, that had a turn.
    bool voters = true;  ///< Members that may vote have their turns, otherwise the others do.
    bool is_heard = false;
    bool is_unproven = false;  ///< Another host listens there, or no key is expected.
  };
  static HostId next_host(Turn& turn, HostId owner, const Roll& roll);

  std::map<gossip::Endpoint, Turn> turns_;  ///< One per seed.
};

}  // namespace muster::agent
