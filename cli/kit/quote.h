#pragma once
// Command lines as a POSIX shell reads them back.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

/// `word` itself when the shell leaves it alone, else in single quotes; with control characters as
/// $'\n', which stays on its line.
inline std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos) {
    return std::string(word);
  }
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  const bool has_controls = std::any_of(word.begin(), word.end(), is_control);
  std::string text = has_controls ? "$'" : "'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (has_controls && (is_control(byte) || c == '\\' || c == '\'')) {
      static constexpr std::string_view kDigits = "01234567";
      text += c == '\n'           ? std::string("\\n")
              : c == '\t'         ? std::string("\\t")
              : !is_control(byte) ? std::string("\\") + c
                                  : std::string("\\") + kDigits[byte >> 6] +
                                        kDigits[byte >> 3 & 7] + kDigits[byte & 7];
    } else {
      text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
  }
  return text + "'";
}

inline std::string shell_quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + shell_quoted(word);
  }
  return text;
}

}  // namespace muster::cli
