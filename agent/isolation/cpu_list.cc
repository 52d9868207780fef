#include "agent/isolation/cpu_list.h"

#include <algorithm>
#include <charconv>

namespace muster::agent {
namespace {

std::optional<std::uint32_t> take_cpu(std::string_view& text) {
  std::uint32_t cpu = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  if (error != std::errc{} || cpu >= kCpusMax) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return cpu;
}

}  // namespace

std::string encode_cpu_list(const CpuList& cpus) {
  std::string text;
  for (auto at = cpus.begin(); at != cpus.end();) {
    const std::uint32_t first = *at;
    std::uint32_t last = first;
    for (++at; at != cpus.end() && *at == last + 1; ++at) {
      last = *at;
    }
    text += text.empty() ? "" : ",";
    text += std::to_string(first);
    text += last == first ? "" : "-" + std::to_string(last);
  }
  return text;
}

std::optional<CpuList> parse_cpu_list(std::string_view text) {
  if (text.size() > kCpuListBytesMax) {
    return std::nullopt;
  }
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  CpuList cpus;
  while (!text.empty()) {
    const std::optional<std::uint32_t> first = take_cpu(text);
    std::optional<std::uint32_t> last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_cpu(text);
    }
    const bool rises = cpus.empty() || first > *cpus.rbegin();
    if (!first.has_value() || !last.has_value() || *last < *first || !rises) {
      return std::nullopt;
    }
    for (std::uint32_t cpu = *first; cpu <= *last; ++cpu) {
      cpus.insert(cpus.end(), cpu);
    }
    if (text.starts_with(',') && text.size() > 1) {
      text.remove_prefix(1);
    } else if (!text.empty()) {
      return std::nullopt;
    }
  }
  return cpus;
}

}  // namespace muster::agent
