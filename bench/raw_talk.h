#pragma once
// Conversations of a program without ZeroMQ with a socket: silence, noise, other protocols, older
// ones that know no keys, and frames without the handshake that would allow them.

#include <optional>
#include <string>
#include <vector>

namespace muster::bench {

struct RawAnswer {
  std::string what;   ///< Name of the bytes that were sent.
  std::string heard;  ///< The answer; "" also for a bare greeting, which every ZeroMQ peer sends.
};

/// Makes one connection to `where` (IP:PORT or a path) for each way to send `messages`. nullopt if
/// a connection fails.
std::optional<std::vector<RawAnswer>> talk_raw(const std::string& where,
                                               const std::vector<std::string>& messages);

}  // namespace muster::bench
