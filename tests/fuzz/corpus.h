#pragma once
// Real messages to start from when bytes are made hostile: captured from a simulated cluster that
// forms, elects, runs and cancels gangs, loses a leader and a host, and answers clients.

#include <string>
#include <vector>

#include "gossip/wire/message.h"

namespace muster::fuzz {

/// The body of a message, encoded by itself.
std::string body_of(const gossip::Message& message);

/// Whole messages, at most `per_type` of each type, in the order in which they were first said.
/// Each names the host that said it. The same on every machine.
std::vector<std::string> real_messages(std::size_t per_type = 40);

}  // namespace muster::fuzz
