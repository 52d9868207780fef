#include "gossip/ssh/ssh_armor.h"

#include <algorithm>
#include <cstddef>

#include "gossip/base/base64.h"

namespace muster::gossip {
namespace {

constexpr std::size_t kLettersOfLine = 70;
constexpr std::string_view kAroundArmor = " \t\r\n";

std::string first_line(std::string_view label) {
  return "-----BEGIN " + std::string(label) + "-----";
}

std::string last_line(std::string_view label) {
  return "-----END " + std::string(label) + "-----";
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kAroundArmor), text.size()));
  return text.substr(0, text.find_last_not_of(kAroundArmor) + 1);
}

}  // namespace

std::string to_armor(std::string_view bytes, std::string_view label) {
  const std::string letters = to_base64(bytes, Base64::kPadded);
  std::string text = first_line(label) + "\n";
  for (std::size_t at = 0; at < letters.size(); at += kLettersOfLine) {
    text.append(letters, at, kLettersOfLine) += '\n';
  }
  return text + last_line(label) + "\n";
}

bool is_armor(std::string_view text, std::string_view label) {
  return trimmed(text).starts_with(first_line(label));
}

std::optional<std::string> from_armor(std::string_view text, std::string_view label) {
  const std::string first = first_line(label);
  const std::string last = last_line(label);
  text = trimmed(text);
  if (text.size() < first.size() + last.size() || !text.starts_with(first) ||
      !text.ends_with(last)) {
    return std::nullopt;
  }
  text.remove_prefix(first.size());
  text.remove_suffix(last.size());
  if (text.find_first_of("\r\n") != 0 || !text.ends_with('\n')) {
    return std::nullopt;
  }
  std::string letters(text);
  std::erase_if(letters, [](char c) { return c == '\n' || c == '\r'; });
  return from_base64(letters, Base64::kPadded);
}

}  // namespace muster::gossip
