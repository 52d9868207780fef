#pragma once
// Labels of hosts, as people write them: "key" or "key=value".

#include <algorithm>
#include <string>

namespace muster::cli {

inline constexpr std::size_t kLabelBytesMax = 127;

/// Letters, digits and ._-/ on both sides of at most one equals sign; a key is not empty.
inline bool is_label(const std::string& text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '/' || c == '=';
  };
  return !text.empty() && text.size() <= kLabelBytesMax && text.front() != '=' &&
         std::all_of(text.begin(), text.end(), is_plain) &&
         std::count(text.begin(), text.end(), '=') <= 1;
}

}  // namespace muster::cli
