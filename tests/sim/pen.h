#pragma once
// Signatures of persons in the simulator: the words that a person signs for a request, written from
// the request alone, as a client does it, and the keys of persons. A pen is the name of a key; a
// person has the key of any pen that an administrator adds.

#include <optional>
#include <string>
#include <string_view>

#include "agent/api/request.h"
#include "gossip/ssh/ssh_key.h"
#include "gossip/wire/transport.h"
#include "scheduler/access/intent.h"

namespace muster::sim {

/// The connection of a login. `user` kOperator: the user of the agent; any other is a guest.
gossip::Sender login_of(const std::string& user);

struct OrderWords {
  std::string words;   ///< scheduler::Intent::order
  bool holds = false;  ///< The entry has to hold them, too (scheduler::MemberOrder).
};
/// nullopt if nobody signs such a request.
std::optional<OrderWords> words_under(const agent::Request& request);

gossip::SshKey key_of(const std::string& pen);
/// The signature by that pen. Another `name_space` is another purpose.
scheduler::PersonSignature written(const std::string& pen, const scheduler::Intent& intent,
                                   bool holds,
                                   std::string_view name_space = scheduler::kIntentNamespace);

}  // namespace muster::sim
