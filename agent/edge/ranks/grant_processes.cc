#include "agent/edge/ranks/grant_processes.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/edge/grant/supervise_protocol.h"

namespace muster::agent {
namespace {

/// Looks through /proc for what was forked during the look before. More help only against a program
/// that forks without end, which KILL ends.
constexpr int kRoundsMax = 10;

std::optional<pid_t> parent_of(pid_t pid) {
  const std::optional<std::string> stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  // "PID (NAME) STATE PARENT ...", and the name may have anything in it.
  const std::size_t name_end = stat.has_value() ? stat->rfind(") ") : std::string::npos;
  if (name_end == std::string::npos || stat->size() < name_end + 4) {
    return std::nullopt;
  }
  return static_cast<pid_t>(std::strtol(stat->c_str() + name_end + 4, nullptr, 10));
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t root) {
  DIR* const folder = opendir("/proc");
  if (folder == nullptr) {
    return {};
  }
  std::multimap<pid_t, pid_t> children;
  for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    const std::optional<pid_t> parent = pid > 0 ? parent_of(pid) : std::nullopt;
    if (parent.has_value()) {
      children.emplace(*parent, pid);
    }
  }
  closedir(folder);
  std::vector<pid_t> found = {root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) {
      found.push_back(child->second);
    }
  }
  found.erase(found.begin());
  return found;
}

void GrantProcesses::ask_to_end() const {
  if (has_namespace_) {
    ::kill(-1, SIGTERM);
    ::kill(-1, SIGCONT);
    return;
  }
  std::set<pid_t> asked;
  bool has_new = true;
  for (int round = 0; round < kRoundsMax && has_new; ++round) {
    has_new = false;
    for (const pid_t pid : descendants_of(getpid())) {
      if (asked.insert(pid).second) {
        has_new = true;
        ::kill(pid, SIGTERM);
        ::kill(pid, SIGCONT);
      }
    }
  }
}

void GrantProcesses::kill() const {
  if (has_namespace_) {
    ::kill(-1, SIGKILL);
    return;
  }
  for (const pid_t pid : descendants_of(getpid())) {
    ::kill(pid, SIGKILL);
  }
}

}  // namespace muster::agent
