#include "gossip/base/base64.h"

#include <cstddef>
#include <utility>

namespace muster {
namespace {

constexpr std::string_view kCommon =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr int kBitsOfLetter = 6;
constexpr int kBitsOfByte = 8;

std::string_view last_letters(Base64 form) {
  return form == Base64::kUrl ? "-_" : "+/";
}

char letter_of(std::uint32_t value, Base64 form) {
  return value < kCommon.size() ? kCommon[value] : last_letters(form)[value - kCommon.size()];
}

/// Not a letter of that form: nullopt.
std::optional<std::uint32_t> value_of(char letter, Base64 form) {
  const auto from = [letter](char first, std::uint32_t value) {
    return value + static_cast<std::uint32_t>(letter - first);
  };
  if (letter >= 'A' && letter <= 'Z') {
    return from('A', 0);
  }
  if (letter >= 'a' && letter <= 'z') {
    return from('a', 26);
  }
  if (letter >= '0' && letter <= '9') {
    return from('0', 52);
  }
  const std::size_t place = last_letters(form).find(letter);
  if (place == std::string_view::npos) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(kCommon.size() + place);
}

/// The letters without the "=" behind them. nullopt if these are too many or too few.
std::optional<std::string_view> without_padding(std::string_view letters) {
  if (letters.size() % 4 != 0) {
    return std::nullopt;
  }
  const std::size_t whole = letters.size();
  while (letters.ends_with('=') && whole - letters.size() < 2) {
    letters.remove_suffix(1);
  }
  return letters;
}

}  // namespace

std::string to_base64(std::string_view bytes, Base64 form) {
  std::string letters;
  letters.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = (bits << kBitsOfByte | static_cast<unsigned char>(byte)) & 0xffffU;
    for (count += kBitsOfByte; count >= kBitsOfLetter; count -= kBitsOfLetter) {
      letters += letter_of(bits >> (count - kBitsOfLetter) & 0x3fU, form);
    }
  }
  if (count > 0) {
    letters += letter_of(bits << (kBitsOfLetter - count) & 0x3fU, form);
  }
  while (form == Base64::kPadded && letters.size() % 4 != 0) {
    letters += '=';
  }
  return letters;
}

std::optional<std::string> from_base64(std::string_view letters, Base64 form) {
  if (form == Base64::kPadded) {
    const std::optional<std::string_view> bare = without_padding(letters);
    if (!bare.has_value()) {
      return std::nullopt;
    }
    letters = *bare;
  }
  std::string bytes;
  bytes.reserve(letters.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char letter : letters) {
    const std::optional<std::uint32_t> value = value_of(letter, form);
    if (!value.has_value()) {
      return std::nullopt;
    }
    bits = (bits << kBitsOfLetter | *value) & 0xffffU;
    count += kBitsOfLetter;
    if (count >= kBitsOfByte) {
      count -= kBitsOfByte;
      bytes += static_cast<char>(bits >> count & 0xffU);
    }
  }
  const bool is_whole = count < kBitsOfLetter && (bits & ((1U << count) - 1)) == 0;
  return is_whole ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace muster
