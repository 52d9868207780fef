#pragma once
// Every version the project writes down, in one place.

#include <cstdint>

namespace muster {

inline constexpr char kProductVersion[] = "0.1.0";
/// Of messages. A peer with another one is refused with an event.
inline constexpr std::uint32_t kProtocolVersion = 8;
/// Of LMDB values (the first byte of each).
inline constexpr std::uint8_t kDiskVersion = 8;
/// Of scheduling decisions: an auditor replays a log with the policy that made it.
inline constexpr std::uint32_t kPolicyVersion = 1;

}  // namespace muster
