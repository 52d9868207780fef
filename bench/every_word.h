#pragma once
// All messages that an agent may get: each number of a message type that a byte holds, with a body
// of its codec if it has one, and each verb of a request with arguments that would tell or change
// something if the agent obeyed.

#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/wire/message.h"

namespace muster::bench {

/// The cluster and the hosts that the words are about.
struct Stage {
  ClusterId cluster;
  std::vector<HostId> hosts;  ///< Members, at least one.
  std::string host_name;      ///< Name of a member.
  std::string ticket;         ///< The key that a Join names; any 32 bytes.
};

struct Word {
  std::string name;  ///< "Request 5", "type 24".
  gossip::MessageType type{};
  std::string body;
  bool is_join = false;
};

/// At least one word of each type and verb, always in the same order. The Join is that of an
/// unknown host.
std::vector<Word> every_word(const Stage& stage);

/// Requests of a member that change nothing; an agent answers each.
std::vector<Word> harmless_words();

/// The orders that only a host that may vouch passes on, as the login of member `speaker` gives
/// them to member `asked`: for no login, for either, and by the name of another member. The agent
/// must refuse each.
std::vector<Word> orders_of_a_login(const Stage& stage, HostId speaker, HostId asked);

}  // namespace muster::bench
