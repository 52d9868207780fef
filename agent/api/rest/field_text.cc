#include "agent/api/rest/field_text.h"

#include <algorithm>

#include "gossip/base/name.h"
#include "gossip/base/nearest_text.h"

namespace muster::agent {
namespace {

/// A longer name is not compared with those that are known.
constexpr std::size_t kComparedNameBytesMax = 128;

/// Bytes of the character that begins with this byte of UTF-8.
std::size_t bytes_of_character(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

}  // namespace

std::string shown(std::string_view text) {
  std::string line = "'";
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t size = std::min(bytes_of_character(text[at]), text.size() - at);
    if (at + size > kShownBytesMax) {
      break;
    }
    const std::string_view character = text.substr(at, size);
    const bool is_whole = is_utf8(character);
    line.append(is_whole && (character == " " || is_line_name(character)) ? character : "?");
    at += is_whole ? size : 1;
  }
  return line + (at < text.size() ? "...'" : "'");
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& known) {
  const std::string_view nearest =
      nearest_text(given.substr(0, kComparedNameBytesMax), {known.begin(), known.end()});
  return nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
}

std::string any_of(const std::vector<std::string_view>& allowed) {
  std::string text;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    text.append(i == 0 ? "" : i + 1 == allowed.size() ? " or " : ", ").append(allowed[i]);
  }
  return text;
}

std::string not_in_range(std::uint64_t min, std::uint64_t max) {
  return "has to be a whole number " +
         (max == UINT64_MAX ? "of at least " + std::to_string(min)
                            : "from " + std::to_string(min) + " to " + std::to_string(max));
}

}  // namespace muster::agent
