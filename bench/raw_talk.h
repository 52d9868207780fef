#pragma once
// What a program without ZeroMQ says to a socket: silence, noise, other protocols, older ones that
// know no keys, and frames without the handshake that would allow them.

#include <optional>
#include <string>
#include <vector>

namespace muster::bench {

struct RawAnswer {
  std::string what;   ///< Was said.
  std::string heard;  ///< In answer; "" also for a bare greeting, which every ZeroMQ peer sends.
};

/// One connection to `where` (IP:PORT or a path) for each way to say `messages`; nothing when there
/// is none.
std::optional<std::vector<RawAnswer>> talk_raw(const std::string& where,
                                               const std::vector<std::string>& messages);

}  // namespace muster::bench
