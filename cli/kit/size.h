#pragma once
// Sizes as people write and read them: "512M", "4G", "1T"; powers of 1024.

#include <cstdint>
#include <string>
#include <string_view>

#include "gossip/base/result.h"

namespace muster::cli {

/// A whole number and a unit (K, M, G, T; "iB" or "B" behind it is the same), or bytes without one.
/// kInvalid names what was read and shows the form.
Result<std::uint64_t> parse_size(std::string_view text);

/// The largest unit that keeps it whole: "4G", "1536M", "17".
std::string format_size(std::uint64_t bytes);

}  // namespace muster::cli
