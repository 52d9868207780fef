#include "agent/edge/run/host_facts.h"

#include <sys/statvfs.h>

#include <charconv>
#include <csignal>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "agent/edge/grant/supervise_protocol.h"

namespace muster::agent {
namespace {

constexpr std::size_t kStartField = 20;  ///< Of /proc/PID/stat, behind the name: see proc(5).

/// The fields of a stat behind the name, which may have blanks and brackets: the state is the
/// first.
std::vector<std::string> fields_of(const std::string& stat) {
  std::vector<std::string> fields;
  const std::size_t end = stat.rfind(')');
  std::istringstream rest(end == std::string::npos ? "" : stat.substr(end + 1));
  for (std::string field; rest >> field;) {
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string program_in(const std::string& stat) {
  const std::size_t begin = stat.find('(');
  const std::size_t end = stat.rfind(')');
  return begin < end && end != std::string::npos ? stat.substr(begin + 1, end - begin - 1) : "";
}

/// Whether its main thread has not taken its KILL yet.
bool is_killed(const std::string& status) {
  static constexpr std::string_view kPending = "SigPnd:\t";
  const std::size_t at = status.find(kPending);
  std::uint64_t signals = 0;
  if (at != std::string::npos) {
    std::from_chars(status.data() + at + kPending.size(), status.data() + status.size(), signals,
                    16);
  }
  return (signals & (1ULL << (SIGKILL - 1))) != 0;
}

}  // namespace

HostFacts::HostFacts(std::string data, std::string proc)
    : data_(std::move(data)), proc_(std::move(proc)) {}

std::vector<health::HostFact> HostFacts::look(Instant now, const std::set<std::uint32_t>& pids) {
  std::vector<health::HostFact> facts;
  if (now < look_at_) {
    return facts;
  }
  look_at_ = now + kLookEvery;
  ++looks_;
  tell(HostCause::kDiskReadOnly, look_at_disk(), facts);
  std::string stuck = text_of_stuck(pids);
  if (looks_ >= kLooks) {  // Until then the word of an earlier life of the agent stands.
    tell(HostCause::kStuckProcesses, std::move(stuck), facts);
  }
  return facts;
}

void HostFacts::tell(HostCause cause, std::string why, std::vector<health::HostFact>& facts) {
  const auto told = told_.find(cause);
  if (told == told_.end() || told->second.empty() != why.empty()) {
    told_[cause] = why;
    facts.push_back({cause, std::move(why)});
  }
}

/// The reason why it is no good; "" = it is good.
std::string HostFacts::look_at_disk() {
  struct statvfs about {};
  if (statvfs(data_.c_str(), &about) != 0) {
    space_ = {};
    return "";
  }
  space_ = {about.f_blocks * about.f_frsize, about.f_bavail * about.f_frsize};
  const bool is_read_only = (about.f_flag & ST_RDONLY) != 0;
  return is_read_only ? "the file system of " + data_ + " is read-only" : "";
}

std::string HostFacts::text_of_stuck(const std::set<std::uint32_t>& pids) {
  std::map<std::uint32_t, Process> hanging;
  for (const std::uint32_t pid : pids) {
    const std::string folder = proc_ + "/" + std::to_string(pid);
    const std::string stat = read_file(folder + "/stat").value_or("");
    const std::vector<std::string> fields = fields_of(stat);
    if (fields.size() < kStartField || fields[0] != "D" ||
        !is_killed(read_file(folder + "/status").value_or(""))) {
      continue;
    }
    Process process{fields[kStartField - 1], 1, program_in(stat)};
    const auto before = hanging_.find(pid);
    if (before != hanging_.end() && before->second.started == process.started) {
      process.looks = before->second.looks + 1;
    }
    hanging.emplace(pid, std::move(process));
  }
  hanging_ = std::move(hanging);
  std::string text;
  std::size_t count = 0;
  for (const auto& [pid, process] : hanging_) {
    if (process.looks >= kLooks && ++count <= kProcessesNamedMax) {
      text +=
          (text.empty() ? "pid " : ", pid ") + std::to_string(pid) + " (" + process.program + ")";
    }
  }
  return text.empty() ? "" : "killed processes hang in the kernel: " + text;
}

std::set<std::uint32_t> watched_processes(const MachineReading& reading,
                                          const std::string& group_root) {
  std::set<std::uint32_t> pids;
  const auto is_full = [&] { return pids.size() >= HostFacts::kProcessesMax; };
  for (const GpuReading& gpu : reading.gpus) {
    for (const GpuProcess& process : gpu.processes.value_or(std::vector<GpuProcess>())) {
      if (!is_full()) {
        pids.insert(process.pid);
      }
    }
  }
  std::error_code error;
  std::filesystem::directory_iterator entry(group_root, error);
  for (; !error && !is_full() && entry != std::filesystem::directory_iterator();
       entry.increment(error)) {
    std::istringstream lines(
        read_file(entry->path().string() + "/ranks/cgroup.procs").value_or(""));
    for (std::uint32_t pid = 0; !is_full() && lines >> pid;) {
      pids.insert(pid);
    }
  }
  return pids;
}

}  // namespace muster::agent
