#pragma once
// The words of errors about the fields of a request: names that a client wrote, and what is
// allowed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::agent {

inline constexpr std::size_t kShownBytesMax = 96;

/// Text of a client, in single quotes: one line of UTF-8, cut with "..." behind kShownBytesMax.
/// '?' stands for bytes and characters that a line cannot hold.
std::string shown(std::string_view text);

/// "; did you mean gpus?" with the nearest of `known`; "" if that list is empty.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

/// "user, type or name"
std::string any_of(const std::vector<std::string_view>& allowed);

/// "has to be a whole number from 1 to 64"; without an upper end if `max` is the greatest number.
std::string not_in_range(std::uint64_t min, std::uint64_t max);

}  // namespace muster::agent
