#pragma once
// Base64 writes bytes as letters and back (RFC 4648). Pure, and strict: the same bytes have one
// text alone, so that a text with one other letter is other bytes or is refused.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

enum class Base64 : std::uint8_t {
  kPadded,    ///< Section 4: letters, digits, + and /; "=" fills the last group of four.
  kUnpadded,  ///< The same letters without "=".
  kUrl,       ///< Section 5: - and _ in place of + and /, without "=".
};

std::string to_base64(std::string_view bytes, Base64 form);
/// nullopt if `letters` has any other letter, a blank or a line break too, too many or too few of
/// "=", or bits beyond the last byte. The result is no longer than `letters`.
std::optional<std::string> from_base64(std::string_view letters, Base64 form);

}  // namespace muster
