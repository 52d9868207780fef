#include "agent/edge/isolation/grant_usage.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "agent/edge/grant/supervise_protocol.h"

namespace muster::agent {
namespace {

constexpr std::uint64_t kKilobyte = 1024;

std::string proc_file(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

/// The number behind "NAME:" at the beginning of a line; 0 if there is no such line.
std::uint64_t field(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':') {
      return std::strtoull(std::string(line.substr(name.size() + 1)).c_str(), nullptr, 10);
    }
    at = end + 1;
  }
  return 0;
}

std::string name_in(std::string_view status) {
  static constexpr std::string_view kHead = "Name:\t";
  return status.starts_with(kHead)
             ? std::string(status.substr(kHead.size(), status.find('\n') - kHead.size()))
             : "";
}

std::uint64_t used_bytes(const std::string& mount_point) {
  struct statfs info {};
  return statfs(mount_point.c_str(), &info) == 0
             ? (info.f_blocks - info.f_bfree) * static_cast<std::uint64_t>(info.f_bsize)
             : 0;
}

/// As maps write them: "00:1a".
std::set<std::string> devices_of(const std::vector<std::string>& mount_points) {
  std::set<std::string> devices;
  for (const std::string& one : mount_points) {
    struct stat info {};
    char text[32];
    if (stat(one.c_str(), &info) == 0) {
      std::snprintf(text, sizeof text, "%02x:%02x", major(info.st_dev), minor(info.st_dev));
      devices.insert(text);
    }
  }
  return devices;
}

/// The process's share of the pages that are files on these devices.
std::uint64_t mapped_bytes(pid_t pid, const std::set<std::string>& devices) {
  std::ifstream lines(proc_file(pid, "smaps"));
  std::uint64_t sum = 0;
  std::uint64_t share = 0;
  bool is_on_them = false;
  for (std::string line; std::getline(lines, line);) {
    char device[32] = "";
    if (std::sscanf(line.c_str(), "%*x-%*x %*s %*x %31s", device) == 1) {
      is_on_them = devices.contains(device);
    } else if (is_on_them && line.starts_with("Pss:")) {
      share = field(line, "Pss") * kKilobyte;
      sum += share;
    } else if (is_on_them && line.starts_with("Anonymous:")) {
      sum -= std::min(share, field(line, "Anonymous") * kKilobyte);  // Its own copies of them.
    }
  }
  return sum;
}

class Sum {
 public:
  explicit Sum(const std::vector<std::string>& files) {
    for (const std::string& one : files) {
      use_.files_bytes += used_bytes(one);
    }
    use_.memory_bytes = use_.files_bytes;
  }

  void add(pid_t pid, const std::string& status, std::uint64_t bytes) {
    use_.processes += std::max<std::uint64_t>(1, field(status, "Threads"));
    use_.memory_bytes += bytes;
    use_.biggest.push_back({name_in(status), pid, bytes});
    if (use_.biggest.size() > kBigProcessesMax) {
      sort();
      use_.biggest.pop_back();
    }
  }

  GrantUse take() {
    sort();
    return std::move(use_);
  }
  std::uint64_t files_bytes() const { return use_.files_bytes; }

 private:
  void sort() {
    std::stable_sort(use_.biggest.begin(), use_.biggest.end(),
                     [](const BigProcess& a, const BigProcess& b) { return a.bytes > b.bytes; });
  }

  GrantUse use_;
};

std::uint64_t rough_bytes(const std::string& status) {
  return (field(status, "RssAnon") + field(status, "RssShmem") + field(status, "VmSwap")) *
         kKilobyte;
}

}  // namespace

std::vector<pid_t> processes_of_proc() {
  DIR* const folder = opendir("/proc");
  std::vector<pid_t> found;
  if (folder == nullptr) {
    return found;
  }
  for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid > 0 && pid != getpid()) {
      found.push_back(pid);
    }
  }
  closedir(folder);
  return found;
}

GrantUse rough_use(const std::vector<pid_t>& processes, const std::vector<std::string>& files) {
  Sum sum(files);
  for (const pid_t pid : processes) {
    if (const auto status = read_file(proc_file(pid, "status")); status.has_value()) {
      sum.add(pid, *status, rough_bytes(*status));
    }
  }
  return sum.take();
}

GrantUse fair_use(const std::vector<pid_t>& processes, const std::vector<std::string>& files) {
  Sum sum(files);
  const std::set<std::string> devices = devices_of(files);
  for (const pid_t pid : processes) {
    const std::optional<std::string> status = read_file(proc_file(pid, "status"));
    if (!status.has_value()) {
      continue;
    }
    const std::string pages = read_file(proc_file(pid, "smaps_rollup")).value_or("");
    if (pages.find("\nPss_Anon:") == std::string::npos) {
      sum.add(pid, *status, rough_bytes(*status));
      continue;
    }
    const std::uint64_t in_files = field(pages, "Pss_Shmem") * kKilobyte;
    // Pages of `files` are counted already.
    const std::uint64_t doubled =
        in_files > 0 && sum.files_bytes() > 0 ? mapped_bytes(pid, devices) : 0;
    sum.add(pid, *status,
            (field(pages, "Pss_Anon") + field(pages, "SwapPss")) * kKilobyte +
                (in_files - std::min(in_files, doubled)));
  }
  return sum.take();
}

}  // namespace muster::agent
