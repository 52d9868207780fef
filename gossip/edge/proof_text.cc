#include "gossip/edge/proof_text.h"

#include <charconv>

#include "gossip/wire/transport.h"

namespace muster::gossip {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kLocal = "localhost";

/// Takes ":NUMBER" off the front.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  if (!text.starts_with(':')) {
    return std::nullopt;
  }
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::string user_id_of(std::string_view key) {
  std::string text;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

std::optional<std::string> key_of_user_id(std::string_view user_id) {
  if (user_id.size() != 2 * kLinkKeyBytes) {
    return std::nullopt;
  }
  std::string key;
  for (std::size_t i = 0; i < user_id.size(); i += 2) {
    const std::size_t high = kHexDigits.find(user_id[i]);
    const std::size_t low = kHexDigits.find(user_id[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) {
      return std::nullopt;
    }
    key += static_cast<char>(high << 4 | low);
  }
  return key;
}

std::optional<std::uint32_t> uid_of_peer_address(std::string_view address) {
  if (!address.starts_with(kLocal)) {
    return std::nullopt;
  }
  address.remove_prefix(kLocal.size());
  const auto uid = take_number(address);
  const auto gid = take_number(address);
  const auto pid = take_number(address);
  return gid.has_value() && pid.has_value() && address.empty() ? uid : std::nullopt;
}

}  // namespace muster::gossip
