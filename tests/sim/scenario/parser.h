#pragma once
// Parses the text of a scenario file. Pure: the caller reads the file. An error names the line and
// says what was expected there.

#include <string>
#include <string_view>

#include "gossip/base/result.h"
#include "tests/sim/scenario/words.h"

namespace muster::sim::scenario {

/// Longer files, and larger fleets, are refused.
inline constexpr std::size_t kFileBytesMax = 64 << 10;
inline constexpr std::uint32_t kHostsMax = 16'384;

/// `path` is for messages alone; `hosts`, if it is not 0, counts instead of what the file says.
/// On failure "path:line: what is wrong".
Result<Scenario> parse(std::string_view path, std::string_view text, std::uint32_t hosts = 0);

enum class PlayedOn : std::uint8_t { kSimulated, kReal };
/// "" = this world can play it; else "path:line: VERB: why not".
std::string what_is_lacking(const Scenario& scenario, PlayedOn world);

}  // namespace muster::sim::scenario
