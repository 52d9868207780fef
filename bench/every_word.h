#pragma once
// Everything that can be said to an agent: each number of a message type that a byte holds, with a
// body of its own codec where there is one, and each verb of a request with arguments that would
// tell or change something if it were obeyed.

#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/wire/message.h"

namespace muster::bench {

/// Whom the words are about.
struct Stage {
  ClusterId cluster;
  std::vector<HostId> hosts;  ///< Members, at least one.
  std::string host_name;      ///< Of a member.
  std::string ticket;         ///< The key that a Join names; any 32 bytes.
};

struct Word {
  std::string name;  ///< "Request 5", "type 24".
  gossip::MessageType type{};
  std::string body;
  bool is_join = false;
};

/// At least one word of each type and verb, in the same order always. The Join is that of a host
/// that nobody has seen before.
std::vector<Word> every_word(const Stage& stage);

/// What a member may ask without changing anything; each is answered.
std::vector<Word> harmless_words();

/// The orders that only a host that may vouch passes on, as the login of member `speaker` gives
/// them to member `asked`: for nobody, for either, and by the name of another member. Each is to be
/// refused.
std::vector<Word> orders_of_a_login(const Stage& stage, HostId speaker, HostId asked);

}  // namespace muster::bench
