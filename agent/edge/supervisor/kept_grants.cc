#include "agent/edge/supervisor/kept_grants.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace muster::agent {
namespace {

std::uint64_t bytes_of(const std::string& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::uintmax_t size = entry->file_size(error);
    bytes += error ? 0 : size;
    error.clear();
  }
  return bytes;
}

}  // namespace

std::size_t KeptGrants::add(Token token, const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) {
    return 0;
  }
  Kept& kept = kept_[token];
  bytes_ -= kept.bytes;
  kept = {directory, bytes_of(directory)};
  bytes_ += kept.bytes;
  std::size_t removed = 0;
  while (kept_.size() > 1 && (kept_.size() > limits_.count || bytes_ > limits_.bytes)) {
    const auto oldest = kept_.begin();
    std::error_code ignored;
    std::filesystem::remove_all(oldest->second.directory, ignored);
    bytes_ -= oldest->second.bytes;
    kept_.erase(oldest);
    ++removed;
  }
  return removed;
}

std::optional<std::string> disk_shortage(const std::string& path, const DiskReserve& reserve) {
  static constexpr std::uint64_t kPercent = 100;
  static constexpr std::uint64_t kMegabyte = 1 << 20;
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) != 0) {
    return std::nullopt;
  }
  const std::uint64_t unit = info.f_frsize;
  const std::uint64_t free = info.f_bavail * unit;
  const std::uint64_t wanted =
      std::min(reserve.bytes, info.f_blocks / kPercent * unit * reserve.percent);
  if (free >= wanted) {
    return std::nullopt;
  }
  return "disk: " + std::to_string(free / kMegabyte) + " MiB free of the " +
         std::to_string(wanted / kMegabyte) + " MiB wanted in " + path;
}

}  // namespace muster::agent
