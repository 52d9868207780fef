#include "gossip/wire/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace muster::gossip {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return port;
}

}  // namespace

bool Endpoint::is_ipv4() const {
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), ip.begin());
}

bool Endpoint::is_loopback() const {
  if (is_ipv4()) {
    return ip[12] == 127;
  }
  return ip == std::array<std::uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
}

std::string Endpoint::ip_text() const {
  char buffer[INET6_ADDRSTRLEN] = {};
  if (is_ipv4()) {
    inet_ntop(AF_INET, ip.data() + kMappedPrefix.size(), buffer, sizeof buffer);
  } else {
    inet_ntop(AF_INET6, ip.data(), buffer, sizeof buffer);
  }
  return buffer;
}

std::string Endpoint::text() const {
  const std::string address = is_ipv4() ? ip_text() : "[" + ip_text() + "]";
  return address + ":" + std::to_string(port);
}

Endpoint Endpoint::ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d,
                        std::uint16_t port) {
  Endpoint endpoint;
  std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), endpoint.ip.begin());
  endpoint.ip[12] = a;
  endpoint.ip[13] = b;
  endpoint.ip[14] = c;
  endpoint.ip[15] = d;
  endpoint.port = port;
  return endpoint;
}

std::optional<Endpoint> Endpoint::parse(std::string_view text, std::uint16_t default_port) {
  Endpoint endpoint;
  endpoint.port = default_port;
  std::string address(text);
  const bool bracketed = !text.empty() && text.front() == '[';
  const std::size_t close = text.find(']');
  const std::size_t colon = text.rfind(':');
  const bool has_port = bracketed ? close != std::string_view::npos && colon == close + 1
                                  : colon != std::string_view::npos && text.find(':') == colon;
  if (bracketed && close == std::string_view::npos) {
    return std::nullopt;
  }
  if (has_port) {
    const auto port = parse_port(text.substr(colon + 1));
    if (!port.has_value()) {
      return std::nullopt;
    }
    endpoint.port = *port;
    address = text.substr(0, colon);
  }
  if (bracketed) {
    address = text.substr(1, close - 1);
  }
  in_addr four{};
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) {
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), endpoint.ip.begin());
    const auto* octets = reinterpret_cast<const std::uint8_t*>(&four);
    std::copy(octets, octets + sizeof four, endpoint.ip.begin() + kMappedPrefix.size());
    return endpoint;
  }
  if (inet_pton(AF_INET6, address.c_str(), endpoint.ip.data()) == 1) {
    return endpoint;
  }
  return std::nullopt;
}

}  // namespace muster::gossip
