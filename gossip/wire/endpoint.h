#pragma once
// Endpoint is an IP address and a port on which an agent listens. The edge resolves names once;
// only addresses travel.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::gossip {

struct Endpoint {
  std::array<std::uint8_t, 16> ip{};  ///< IPv6, or IPv4 mapped as ::ffff:a.b.c.d.
  std::uint16_t port = 0;

  constexpr auto operator<=>(const Endpoint&) const = default;
  bool is_none() const { return port == 0; }
  bool is_ipv4() const;
  bool is_loopback() const;
  /// "127.0.0.1:7450", "[::1]:7450".
  std::string text() const;
  std::string ip_text() const;

  static Endpoint ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d,
                       std::uint16_t port);
  /// nullopt unless the address is numeric. A missing port becomes `default_port`.
  static std::optional<Endpoint> parse(std::string_view text, std::uint16_t default_port);
};

}  // namespace muster::gossip
