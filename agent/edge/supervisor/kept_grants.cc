#include "agent/edge/supervisor/kept_grants.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace muster::agent {
namespace {

/// What cannot be measured now is not old.
constexpr std::uint64_t kNeverOld = UINT64_MAX;

struct Measure {
  std::uint64_t bytes = 0;
  std::uint64_t unix_ms = 0;  ///< When the grant ended, or something was written last.
};

std::uint64_t written_ms(const struct stat& info) {
  constexpr std::uint64_t kMsPerSecond = 1000;
  return static_cast<std::uint64_t>(info.st_mtim.tv_sec) * kMsPerSecond;
}

/// The end of a grant takes its other files out of the directory, which so knows when that was.
Measure measure(const std::string& directory) {
  Measure all;
  std::error_code error;
  struct stat self {};
  all.unix_ms = lstat(directory.c_str(), &self) == 0 ? written_ms(self) : kNeverOld;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat info {};
    if (lstat(entry->path().c_str(), &info) == 0) {
      all.bytes += static_cast<std::uint64_t>(info.st_size);
      all.unix_ms = std::max(all.unix_ms, written_ms(info));
    }
  }
  all.unix_ms = error ? kNeverOld : all.unix_ms;
  return all;
}

}  // namespace

std::size_t KeptGrants::add(Token token, const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) {
    return 0;
  }
  Kept& kept = kept_[token];
  bytes_ -= kept.bytes;
  const Measure measured = measure(directory);
  kept = {directory, measured.bytes, measured.unix_ms};
  bytes_ += kept.bytes;
  std::size_t removed = 0;
  while (kept_.size() > 1 && (kept_.size() > limits_.count || bytes_ > limits_.rule.bytes)) {
    remove(kept_.begin());
    ++removed;
  }
  return removed;
}

std::size_t KeptGrants::expire(std::uint64_t unix_ms) {
  std::size_t removed = 0;
  for (auto it = kept_.begin(); it != kept_.end() && removed < kRemovedMax;) {
    const std::uint64_t age = unix_ms - std::min(unix_ms, it->second.unix_ms);
    const bool is_old = age > limits_.rule.age_ms;
    it = is_old ? remove(it) : std::next(it);
    removed += is_old ? 1 : 0;
  }
  return removed;
}

std::map<Token, KeptGrants::Kept>::iterator KeptGrants::remove(
    std::map<Token, Kept>::iterator one) {
  std::error_code ignored;
  std::filesystem::remove_all(one->second.directory, ignored);
  bytes_ -= one->second.bytes;
  return kept_.erase(one);
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
