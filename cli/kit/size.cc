#include "cli/kit/size.h"

#include <array>
#include <cctype>
#include <charconv>

namespace muster::cli {
namespace {

constexpr std::string_view kSizeUnits = "KMGT";
constexpr int kBitsAUnit = 10;

/// The position of a unit counts from 1; 0 = bytes, nothing = no unit.
Result<int> size_unit_of(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  const auto letter = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  const std::size_t at = kSizeUnits.find(letter);
  const std::string_view rest = text.substr(1);
  if (at == std::string_view::npos || (!rest.empty() && rest != "B" && rest != "iB")) {
    return Error{ErrorCode::kInvalid, ""};
  }
  return static_cast<int>(at) + 1;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const auto digits = static_cast<std::size_t>(end - text.data());
  const Result<int> unit = size_unit_of(text.substr(digits));
  if (error != std::errc() || digits == 0 || !unit) {
    return Error{ErrorCode::kInvalid,
                 "'" + std::string(text) + "' is not a size: write 512M, 4G or 1T"};
  }
  const int bits = kBitsAUnit * *unit;
  if (count > UINT64_MAX >> bits) {
    return Error{ErrorCode::kInvalid, "'" + std::string(text) + "' is too large a size"};
  }
  return count << bits;
}

std::string format_size(std::uint64_t bytes) {
  int unit = 0;
  while (unit < static_cast<int>(kSizeUnits.size()) && bytes != 0 &&
         bytes % (1 << kBitsAUnit) == 0) {
    bytes >>= kBitsAUnit;
    ++unit;
  }
  return std::to_string(bytes) +
         (unit == 0 ? "" : std::string(1, kSizeUnits[static_cast<std::size_t>(unit) - 1]));
}

}  // namespace muster::cli
