#pragma once
// Real messages to start from when bytes are made hostile: captured from a simulated cluster that
// forms, elects, runs and cancels gangs, loses a leader and a host, and answers clients.

#include <string>
#include <vector>

namespace muster::fuzz {

/// Whole messages, at most `per_type` of each type, in the order in which they were first said.
/// The same on every machine.
std::vector<std::string> real_messages(std::size_t per_type = 40);

}  // namespace muster::fuzz
