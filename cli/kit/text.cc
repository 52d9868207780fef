#include "cli/kit/text.h"

#include <algorithm>
#include <cstdint>

namespace muster::cli {
namespace {

bool continues_a_sequence(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_a_sequence));
}

std::string printable(std::string_view text) {
  std::string safe(text);
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const auto byte = static_cast<unsigned char>(safe[i]);
    // C1 controls (U+0080 to U+009F) are 0xc2 0x80..0x9f in UTF-8.
    const bool is_c1 =
        byte == 0xc2 && i + 1 < safe.size() && static_cast<unsigned char>(safe[i + 1]) < 0xa0;
    if (byte < 0x20 || byte == 0x7f) {
      safe[i] = '?';
    } else if (is_c1) {
      safe.replace(i, 2, "?");
    }
  }
  return safe;
}

std::string printable_lines(std::string_view text) {
  std::string safe;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    safe += printable(text.substr(start, end - start)) + "\n";
    start = end + 1;
  }
  return safe;
}

std::string truncate(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) {
    return std::string(text);
  }
  std::size_t end = 0;
  std::size_t shown = 0;
  while (end < text.size()) {
    shown += continues_a_sequence(text[end]) ? 0 : 1;
    if (shown >= columns) {
      break;
    }
    ++end;
  }
  return std::string(text.substr(0, end)) + "~";
}

std::string in_lines(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string lines;
  std::size_t used = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string_view word = text.substr(start, end - start);
    const std::size_t width = columns_of(word);
    if (used > 0 && used + 1 + width > columns) {
      lines += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (start > 0) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += width;
    start = end + 1;
  }
  return lines;
}

Screen for_reading(const Screen& screen) {
  constexpr std::size_t kColumnsMin = 60;
  const std::size_t columns = screen.columns == 0 ? kScreenColumns : screen.columns;
  return {std::clamp(columns, kColumnsMin, kScreenColumns), screen.has_colour};
}

std::string fitted(std::string_view text, std::size_t indent, const Screen& screen) {
  if (screen.columns == 0) {
    return std::string(text);
  }
  std::string lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines += in_lines(text.substr(start, end - start), screen.columns, indent) + "\n";
    start = end + 1;
  }
  return lines;
}

std::string coloured_state(const std::string& state, const Screen& screen) {
  using Words = std::initializer_list<std::string_view>;
  constexpr std::string_view kEnd = "\x1b[0m";
  if (!screen.has_colour) {
    return state;
  }
  const std::string_view word = std::string_view(state).substr(0, state.find_first_of(" ?,:"));
  const auto is_one_of = [word](Words words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const std::string_view colour =
      is_one_of({"running", "completed", "alive", "leader", "finished", "used"}) ? "\x1b[32m"
      : is_one_of({"failed", "unreachable", "revoked", "lost", "expired", "condemned", "left",
                   "quarantined", "unhealthy", "masked"})
          ? "\x1b[31m"
      : is_one_of({"queued", "scheduled", "stopping", "suspended", "suspect", "cancelled",
                   "drained", "degraded", "assigned", "ready", "aborted"})
          ? "\x1b[33m"
          : "";
  return colour.empty() ? state : std::string(colour) + state + std::string(kEnd);
}

std::string in_words(std::string name) {
  if (name.find(' ') == std::string::npos) {
    std::replace(name.begin(), name.end(), '_', ' ');
  }
  return name;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) {
      text += separator;
    }
    text += part;
  }
  return text;
}

}  // namespace muster::cli
