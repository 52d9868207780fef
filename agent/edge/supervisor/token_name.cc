#include "agent/edge/supervisor/token_name.h"

#include <charconv>
#include <system_error>

namespace muster::agent {

std::optional<Token> token_named(std::string_view name) {
  Token token;
  const char* end = name.data() + name.size();
  const auto [dot, error] = std::from_chars(name.data(), end, token.epoch);
  if (error != std::errc() || dot == end || *dot != '.') {
    return std::nullopt;
  }
  const auto [last, index_error] = std::from_chars(dot + 1, end, token.index);
  return index_error == std::errc() && last == end ? std::optional(token) : std::nullopt;
}

}  // namespace muster::agent
