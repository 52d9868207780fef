#pragma once
// nearest_text() finds the name that a person may have meant. Pure.

#include <cstddef>
#include <string_view>
#include <vector>

namespace muster {

/// Bytes to add, leave out or exchange until `a` is `b`; `limit` if it is that many or more.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);
/// The first one of `known` that is the least edit_distance() away; "" if there is no name at all.
std::string_view nearest_text(std::string_view given, const std::vector<std::string_view>& known);

}  // namespace muster
