#include "agent/edge/supervisor/kept_grants.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

namespace muster::agent {
namespace {

/// A directory that cannot be measured now is not old.
constexpr std::uint64_t kNeverOld = UINT64_MAX;

constexpr char kJobLink[] = "job";

std::uint64_t written_ms(const struct stat& info) {
  constexpr std::uint64_t kMsPerSecond = 1000;
  return static_cast<std::uint64_t>(info.st_mtim.tv_sec) * kMsPerSecond;
}

/// The text of the link: the job, the team and the user, a line each. A link needs no file more.
std::string label_of(const std::string& directory) {
  std::error_code error;
  std::string label = std::filesystem::read_symlink(directory + "/" + kJobLink, error).string();
  return error ? "" : label;
}

/// That of the array, of a task: "7" of "7.12".
std::string job_of(const std::string& directory) {
  const std::string label = label_of(directory);
  return label.substr(0, label.find_first_of(".\n"));
}

/// Of the file system that a directory lies in; the directory may be there later.
std::uint64_t inodes_of(const std::string& folder) {
  struct statvfs info {};
  return statvfs(folder.c_str(), &info) == 0 ? info.f_files : 0;  // 0: they are not counted there.
}

}  // namespace

KeptGrants::KeptGrants(std::string folder, KeptLimits limits)
    : limits_(limits), files_max_(limits.rule.files), pruned_(folder + "/pruned") {
  static constexpr std::uint64_t kPercent = 100;
  if (const std::uint64_t inodes = inodes_of(std::filesystem::path(folder).parent_path());
      inodes != 0) {
    files_max_ = std::min(files_max_, inodes / kPercent * limits.inodes_percent);
  }
}

void KeptGrants::name_job(const std::string& directory, JobId job, const OutputOwner& owner) {
  std::error_code ignored;  // It is of some unknown job then.
  std::filesystem::create_symlink(text_of(job) + "\n" + owner.team + "\n" + owner.user,
                                  directory + "/" + kJobLink, ignored);
}

OutputOwner KeptGrants::owner_of(const std::string& directory) {
  const std::string label = label_of(directory);
  const std::size_t team = label.find('\n');
  const std::size_t user = team == std::string::npos ? team : label.find('\n', team + 1);
  return user == std::string::npos
             ? OutputOwner()
             : OutputOwner{label.substr(user + 1), label.substr(team + 1, user - team - 1)};
}

/// The end of a grant takes its other files out of the directory, which so knows when that was.
KeptGrants::Kept KeptGrants::measured(const std::string& directory) {
  Kept all;
  std::error_code error;
  struct stat self {};
  all.unix_ms = lstat(directory.c_str(), &self) == 0 ? written_ms(self) : kNeverOld;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat info {};
    if (lstat(entry->path().c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
      all.bytes += static_cast<std::uint64_t>(info.st_size);
      all.unix_ms = std::max(all.unix_ms, written_ms(info));
      ++all.files;
    }
  }
  all.unix_ms = error ? kNeverOld : all.unix_ms;
  all.directory = directory;
  all.job = job_of(directory);
  return all;
}

void KeptGrants::add(Token token, const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) {
    return;
  }
  if (const auto known = kept_.find(token); known != kept_.end()) {
    count_out(known);
    kept_.erase(known);
  }
  Kept measure = measured(directory);
  if (measure.files == 0) {
    std::filesystem::remove_all(directory, error);
    return;
  }
  measure.files += measure.job.empty() ? 1 : 2;
  OfJob& of_job = by_job_[measure.job];
  of_job.files += measure.files;
  of_job.tokens.insert(token);
  bytes_ += measure.bytes;
  files_ += measure.files;
  kept_.emplace(token, std::move(measure));
  while (kept_.size() > 1 && bytes_ > limits_.rule.bytes) {
    remove(kept_.begin(), PruneRule::kBytes);
  }
  while (kept_.size() > 1 && files_ > files_max_) {
    remove(oldest_of_largest_job(token), PruneRule::kFiles);
  }
}

/// Of jobs that have as many the one whose output is oldest; never `newest`, which has just ended.
/// O(jobs), and only when it is too much.
KeptGrants::Entry KeptGrants::oldest_of_largest_job(Token newest) {
  const auto rank = [newest](const OfJob& job) {
    const Token oldest = *job.tokens.begin();
    return std::pair(oldest == newest ? 0 : job.files, oldest);
  };
  const auto largest =
      std::max_element(by_job_.begin(), by_job_.end(), [&rank](const auto& a, const auto& b) {
        const auto [files_a, oldest_a] = rank(a.second);
        const auto [files_b, oldest_b] = rank(b.second);
        return files_a != files_b ? files_a < files_b : oldest_b < oldest_a;
      });
  return kept_.find(*largest->second.tokens.begin());
}

void KeptGrants::expire(std::uint64_t unix_ms) {
  std::size_t removed = 0;
  for (auto it = kept_.begin(); it != kept_.end() && removed < kRemovedMax;) {
    const std::uint64_t age = unix_ms - std::min(unix_ms, it->second.unix_ms);
    const bool is_old = age > limits_.rule.age_ms;
    it = is_old ? remove(it, PruneRule::kAge) : std::next(it);
    removed += is_old ? 1 : 0;
  }
}

void KeptGrants::count_out(Entry one) {
  const Kept& kept = one->second;
  bytes_ -= kept.bytes;
  files_ -= kept.files;
  const auto of_job = by_job_.find(kept.job);
  of_job->second.files -= kept.files;
  of_job->second.tokens.erase(one->first);
  if (of_job->second.tokens.empty()) {
    by_job_.erase(of_job);
  }
}

KeptGrants::Entry KeptGrants::remove(Entry one, PruneRule rule) {
  std::error_code ignored;
  std::filesystem::remove_all(one->second.directory, ignored);
  pruned_.add(one->first, rule);
  untold_.push_back({one->first, one->second.job, rule});
  count_out(one);
  return kept_.erase(one);
}

std::vector<PrunedGrant> KeptGrants::take_pruned() {
  return std::exchange(untold_, {});
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
  // A file system without a fixed count of inodes says 0.
  if (info.f_files != 0 && info.f_favail < std::min(reserve.inodes, info.f_files / kPercent)) {
    return "disk: " + std::to_string(info.f_favail) + " more files can be created in " + path;
  }
  if (free >= wanted) {
    return std::nullopt;
  }
  return "disk: " + std::to_string(free / kMegabyte) + " MiB free of the " +
         std::to_string(wanted / kMegabyte) + " MiB wanted in " + path;
}

}  // namespace muster::agent
