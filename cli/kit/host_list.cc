#include "cli/kit/host_list.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <utility>

#include "cli/kit/text.h"

namespace muster::cli {
namespace {

/// More digits are part of the name.
constexpr std::size_t kDigitsMax = 9;

struct Numbered {
  std::string prefix;
  std::size_t width = 0;  ///< Of the number, when it begins with a zero; else 0.
  auto operator<=>(const Numbered&) const = default;
};

std::string padded(std::uint64_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  return std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
}

/// "1-4,7"
std::string ranges_text(const std::vector<std::uint64_t>& numbers, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    text += (text.empty() ? "" : ",") + padded(numbers[i], width);
    text += last == i ? "" : (last == i + 1 ? "," : "-") + padded(numbers[last], width);
    i = last + 1;
  }
  return text;
}

}  // namespace

std::string short_host_list(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::map<Numbered, std::vector<std::uint64_t>> groups;
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    std::size_t at = name.size();
    while (at > 0 && std::isdigit(static_cast<unsigned char>(name[at - 1])) != 0) {
      --at;
    }
    const std::string digits = name.substr(at);
    if (at == 0 || digits.empty() || digits.size() > kDigitsMax) {
      parts.push_back(name);
      continue;
    }
    const std::size_t width = digits[0] == '0' && digits.size() > 1 ? digits.size() : 0;
    groups[{name.substr(0, at), width}].push_back(std::stoull(digits));
  }
  for (auto& [group, numbers] : groups) {
    std::sort(numbers.begin(), numbers.end());
    const std::string text = ranges_text(numbers, group.width);
    parts.push_back(group.prefix + (numbers.size() == 1 ? text : "[" + text + "]"));
  }
  std::sort(parts.begin(), parts.end());
  return join(parts, ",");
}

}  // namespace muster::cli
