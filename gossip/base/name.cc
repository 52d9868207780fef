#include "gossip/base/name.h"

#include <algorithm>
#include <cstdint>

namespace muster {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_ipv4_address(std::string_view name) {
  return name.find('.') != std::string_view::npos &&
         name.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// Bytes of the character that begins there (Unicode, table 3-7); 0 = no character does.
std::size_t character_bytes(std::string_view bytes) {
  const auto at = [&](std::size_t index) { return static_cast<unsigned char>(bytes[index]); };
  const unsigned char first = at(0);
  const std::size_t count = first < 0x80                    ? 1
                            : first >= 0xc2 && first < 0xe0 ? 2
                            : first >= 0xe0 && first < 0xf0 ? 3
                            : first >= 0xf0 && first < 0xf5 ? 4
                                                            : 0;
  if (count == 0 || count > bytes.size()) {
    return 0;
  }
  for (std::size_t next = 1; next < count; ++next) {
    const bool is_second = next == 1;
    const unsigned char least = is_second && first == 0xe0   ? 0xa0
                                : is_second && first == 0xf0 ? 0x90
                                                             : 0x80;
    const unsigned char most = is_second && first == 0xed   ? 0x9f
                               : is_second && first == 0xf4 ? 0x8f
                                                            : 0xbf;
    if (at(next) < least || at(next) > most) {
      return 0;
    }
  }
  return count;
}

/// Precondition: a whole character.
std::uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  static constexpr unsigned char kMasks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  std::uint32_t code = first & kMasks[character.size()];
  for (const char c : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  }
  return code;
}

bool steers_a_terminal(std::uint32_t code) {
  const auto is_between = [code](std::uint32_t first, std::uint32_t last) {
    return first <= code && code <= last;
  };
  return code < 0x20 || is_between(0x7f, 0x9f) || is_between(0x200e, 0x200f) ||
         is_between(0x2028, 0x202e) || is_between(0x2066, 0x2069) || code == 0xfeff;
}

std::string shown(std::string_view name) {
  constexpr std::size_t kShownMax = 40;
  std::string text(name.substr(0, kShownMax));
  const bool is_whole = is_utf8(text);
  std::replace_if(
      text.begin(), text.end(),
      [is_whole](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f || (!is_whole && byte >= 0x80);
      },
      '?');
  return "'" + text + (name.size() > kShownMax ? "...'" : "'");
}

}  // namespace

bool is_word_name(std::string_view name) {
  return !name.empty() && name.size() <= kWordNameBytesMax &&
         (is_letter_or_digit(name.front()) || name.front() == '_') &&
         std::all_of(
             name.begin(), name.end(),
             [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; }) &&
         !is_ipv4_address(name);
}

bool is_label(std::string_view text) {
  const auto is_plain = [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-' || c == '/' || c == '=';
  };
  return !text.empty() && text.size() <= kLabelBytesMax && text.front() != '=' &&
         std::all_of(text.begin(), text.end(), is_plain) &&
         std::count(text.begin(), text.end(), '=') <= 1;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t count = character_bytes(bytes);
    if (count == 0) {
      return false;
    }
    bytes.remove_prefix(count);
  }
  return true;
}

bool is_line_name(std::string_view text) {
  if (text.starts_with(' ') || text.ends_with(' ')) {
    return false;
  }
  while (!text.empty()) {
    const std::size_t count = character_bytes(text);
    if (count == 0 || steers_a_terminal(code_point(text.substr(0, count)))) {
      return false;
    }
    text.remove_prefix(count);
  }
  return true;
}

Status check_word_name(std::string_view name, std::string_view what) {
  if (is_word_name(name)) {
    return ok();
  }
  return Error{ErrorCode::kInvalid,
               shown(name) + " is not a valid name for a " + std::string(what) + ": " +
                   (is_ipv4_address(name) ? "it is an address; " : "") +
                   "letters, digits and . _ - are allowed, a letter, digit or _ first, at most " +
                   std::to_string(kWordNameBytesMax)};
}

Status check_line_name(std::string_view name, std::string_view what) {
  if (is_line_name(name)) {
    return ok();
  }
  return Error{ErrorCode::kInvalid,
               shown(name) + " is not a valid name for a " + std::string(what) +
                   ": it may hold letters, signs and blanks, no line break or other control "
                   "character, and no blank at its ends"};
}

}  // namespace muster
