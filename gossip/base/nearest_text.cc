#include "gossip/base/nearest_text.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace muster {

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t least = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (least >= limit) {
    return limit;
  }
  // The row of the table for the bytes of `a` so far, against each beginning of `b`.
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t corner = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t exchanged = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({exchanged, corner + 1, row[j] + 1});
    }
    if (*std::min_element(row.begin(), row.end()) >= limit) {
      return limit;
    }
  }
  return std::min(row.back(), limit);
}

std::string_view nearest_text(std::string_view given, const std::vector<std::string_view>& known) {
  std::string_view nearest;
  std::size_t least = SIZE_MAX;
  for (const std::string_view name : known) {
    const std::size_t far = edit_distance(given, name, least);
    if (far < least) {
      least = far;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace muster
