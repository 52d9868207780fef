#pragma once
// Every field that --json prints, by name: a name means the same wherever it stands. A test
// compares the list with what prints them.

#include <span>
#include <string_view>

namespace muster::agent {

struct JsonField {
  std::string_view name;
  std::string_view unit;  ///< "ms", "bytes", "count", ...
  std::string_view meaning;
};

/// By name.
std::span<const JsonField> json_fields();

}  // namespace muster::agent
