#pragma once
// The fields that --json prints. A name means the same in every document. A test compares the list
// with the code that prints them.

#include <span>
#include <string_view>

namespace muster::agent {

struct JsonField {
  std::string_view name;
  std::string_view type;  ///< "string", "objects", ... or the unit of an integer: "ms", ...
  std::string_view meaning;
};

/// Sorted by name.
std::span<const JsonField> json_fields();

}  // namespace muster::agent
