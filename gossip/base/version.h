#pragma once
// Every version that the project writes, in one place.

#include <cstdint>

namespace muster {

inline constexpr char kProductVersion[] = "0.1.0";
/// Version of messages. A node refuses a peer of another version and emits an event.
inline constexpr std::uint32_t kProtocolVersion = 9;
/// Version of LMDB values (the first byte of each).
inline constexpr std::uint8_t kDiskVersion = 10;
/// Version of scheduling decisions: an auditor replays a log with the policy that made it.
inline constexpr std::uint32_t kPolicyVersion = 1;

}  // namespace muster
