#pragma once
// CpuList is a set of logical CPUs in the kernel's text form, as cpusets have it: "0-3,8".

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace muster::agent {

/// Linux has at most this many CPUs (CONFIG_NR_CPUS of the greatest build).
inline constexpr std::uint32_t kCpusMax = 8192;
/// Of the text of a list: every second CPU of kCpusMax.
inline constexpr std::size_t kCpuListBytesMax = 24 * 1024;

using CpuList = std::set<std::uint32_t>;

/// "0-3,8"; "" for an empty set.
std::string encode_cpu_list(const CpuList& cpus);
/// nullopt if it is no list, names a CPU from kCpusMax on, is too long, or does not rise: the
/// kernel writes each CPU once, in order. A newline at the end, as in files of the kernel, is
/// allowed.
std::optional<CpuList> parse_cpu_list(std::string_view text);

}  // namespace muster::agent
