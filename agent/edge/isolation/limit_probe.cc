#include "agent/edge/isolation/limit_probe.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/isolation/control_group.h"
#include "agent/edge/isolation/machine_cores.h"
#include "agent/isolation/room_limits.h"

namespace muster::agent {
namespace {

constexpr const char* kControllers[] = {"memory", "cpu", "cpuset", "pids"};
/// The limit of the probe, and what its child uses. The first holds what any process needs.
constexpr std::size_t kProbeLimit = 16 << 20;
constexpr std::size_t kProbeUse = 64 << 20;

bool put(const std::string& file, const std::string& text) {
  const Fd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.is_open() &&
         write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// A group for one probe, gone with it.
class ProbeGroup {
 public:
  ProbeGroup(const std::string& root, const char* name)
      : path_(root + "/probe-" + name + "-" + std::to_string(getpid())) {
    is_made_ = static_cast<bool>(make_group(path_));
  }
  ~ProbeGroup() { rmdir(path_.c_str()); }
  ProbeGroup(const ProbeGroup&) = delete;
  ProbeGroup& operator=(const ProbeGroup&) = delete;

  bool set(const char* file, const std::string& text) const {
    return is_made_ && put(path_ + "/" + file, text);
  }
  std::string get(const char* file) const { return read_file(path_ + "/" + file).value_or(""); }

  /// The wait status of a child in the group that does this and ends with what it returns; nullopt
  /// if there was no such child.
  std::optional<int> run(const std::function<int()>& act) const {
    static constexpr int kNotJoined = 99;
    const pid_t child = fork();
    if (child == 0) {
      _exit(join_group(path_) ? act() : kNotJoined);
    }
    int status = 0;
    const bool is_known = child > 0 && waitpid(child, &status, 0) == child;
    const bool has_joined = !WIFEXITED(status) || WEXITSTATUS(status) != kNotJoined;
    return is_known && has_joined ? std::optional(status) : std::nullopt;
  }

 private:
  std::string path_;
  bool is_made_ = false;
};

bool ends_well(std::optional<int> status) {
  return status.has_value() && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
}

/// Each page of it, so that the kernel has to find one.
int use_memory() {
  void* const place =
      mmap(nullptr, kProbeUse, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) {
    return 1;
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < kProbeUse; at += page) {
    static_cast<volatile char*>(place)[at] = 1;
  }
  return 0;
}

std::string why_no_memory(const std::string& root) {
  const ProbeGroup group(root, "memory");
  if (!group.set("memory.max", std::to_string(kProbeLimit)) ||
      !group.set("memory.oom.group", "1")) {
    return "no controller of memory";
  }
  group.set("memory.swap.max", "0");
  const std::optional<int> status = group.run(use_memory);
  if (!status.has_value()) {
    return "no process can be put into a group with a limit";
  }
  const bool is_killed = WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL;
  return is_killed && counter_in(group.get("memory.events"), "oom_kill") > 0
             ? ""
             : "a process used more memory than the limit of its group";
}

std::string why_no_cpu(const std::string& root) {
  const ProbeGroup group(root, "cpu");
  const std::vector<Core> cores = cores_of_machine();
  if (cores.empty()) {
    return "the processors of this machine cannot be read";
  }
  const std::uint32_t cpu = cores.back().cpus.back();
  if (!group.set("cpu.weight", "50") || !group.set("cpuset.cpus", std::to_string(cpu))) {
    return "no controllers of cpu and cpuset";
  }
  const std::optional<int> status = group.run([&] {
    const std::vector<Core> left = cores_of_machine();
    return left.size() == 1 && left.front().cpus == std::vector<std::uint32_t>{cpu} ? 0 : 1;
  });
  return ends_well(status) ? "" : "a process ran beside the processors of its group";
}

std::string why_no_pids(const std::string& root) {
  const ProbeGroup group(root, "pids");
  if (!group.set("pids.max", "1")) {
    return "no controller of pids";
  }
  const std::optional<int> status = group.run([] {
    const pid_t child = fork();
    if (child == 0) {
      _exit(0);
    }
    if (child > 0) {
      waitpid(child, nullptr, 0);
    }
    return child < 0 && errno == EAGAIN ? 0 : 1;
  });
  return ends_well(status) ? "" : "a process forked beyond the limit of its group";
}

/// The kernel gives memory to no group below one with processes in it, as that of a container is.
/// The other controllers it would give, and take no process into any group below from then on. The
/// root of all groups, which has no type, is free of that.
bool may_give_controllers(const std::string& folder) {
  const bool is_root = !read_file(folder + "/cgroup.type").has_value();
  return is_root || read_file(folder + "/cgroup.procs") == std::optional<std::string>("");
}

}  // namespace

void enable_controllers(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (!may_give_controllers(folder)) {
      continue;
    }
    for (const char* name : kControllers) {
      put(folder + "/cgroup.subtree_control", "+" + std::string(name));  // Each that is there.
    }
  }
}

AbilitySet probe_limits(const std::string& root, std::vector<std::string>& whys) {
  const struct {
    Ability ability;
    std::string (*why_not)(const std::string& root);
  } probes[] = {{Ability::kMemory, why_no_memory},
                {Ability::kCpu, why_no_cpu},
                {Ability::kPids, why_no_pids}};
  AbilitySet abilities;
  for (const auto& probe : probes) {
    const std::string why = probe.why_not(root);
    if (why.empty()) {
      abilities.add(probe.ability);
    } else {
      whys.push_back(std::string(text_of(probe.ability)) + ": " + why);
    }
  }
  return abilities;
}

}  // namespace muster::agent
