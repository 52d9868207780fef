#include "agent/api/json/bytes_text.h"

#include "gossip/base/base64.h"

namespace muster::agent {

std::string base64(std::string_view bytes) {
  return to_base64(bytes, Base64::kPadded);
}

std::string hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace muster::agent
