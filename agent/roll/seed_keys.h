#pragma once
// The link key to expect at a seed. A dial needs the key of who listens there, and the rows know
// it where one names the address. Hosts that came back under other addresses are named nowhere: at
// a seed where somebody listens and proves to be nobody expected, the members' keys are tried one
// after the other, those that may vote first, for seeds mostly do.
//
// An address that rows name is its owner's at every second try: the one who was there last comes
// back sooner than another one comes.
//
// Limits: a key is tried per greeting of that seed, so at most two a second; a seed that is silent,
// or refused by its kernel, tries nothing. Of how many members there are the tries are bounded by
// the roll; they begin again behind its end.

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
  /// In this life, and since a dial to there failed. The rows' word of an address is older.
  bool has_heard(const gossip::Endpoint& seed) const;
  /// A link to a seed ended.
  void on_link_down(const gossip::LinkDown& lost);
  /// `seed` is about to be greeted, and nobody is met there. `owner`: whose row names it; zero =
  /// no row does. Tells the transport of another key where it is another one's turn.
  void choose(const gossip::Endpoint& seed, HostId owner, const Roll& roll, Outbox& outbox);

 private:
  struct Turn {
    HostId host;  ///< Whose key is expected; zero = as the rows say.
    std::string key{};
    HostId behind{};     ///< Of the tries: who had the last turn but owners.
    bool voters = true;  ///< Those that may vote have their turns.
    bool is_heard = false;
    bool is_unproven = false;  ///< Somebody else listens there, or no key is expected.
  };
  static HostId next_host(Turn& turn, HostId owner, const Roll& roll);

  std::map<gossip::Endpoint, Turn> turns_;  ///< Of seeds, so no more than there are.
};

}  // namespace muster::agent
