#include "agent/edge/ranks/grant_watch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/ranks/grant_processes.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

/// This process as /proc shows it, which may be that of the host.
pid_t self_in_proc() {
  char text[32] = "";
  const ssize_t size = readlink("/proc/self", text, sizeof text - 1);
  return size > 0 ? static_cast<pid_t>(std::strtol(text, nullptr, 10)) : getpid();
}

}  // namespace

GrantWatch::GrantWatch(RoomLimits limits, bool has_own_proc)
    : limits_(std::move(limits)), has_own_proc_(has_own_proc) {}

bool GrantWatch::needs_looks() const {
  return limits_.memory_bytes != 0 || limits_.processes != 0;
}

bool GrantWatch::must_end(Instant now) {
  if (now < next_look_) {
    return false;
  }
  if (!is_passed_) {
    look(now);
  }
  const Duration cost = boot_now() - now;
  next_look_ = now + std::max(kPause, cost * kShareOfTime);
  return is_passed_;
}

void GrantWatch::look(Instant now) {
  if (are_forks_refused()) {
    refused_.saw(count_in("pids.events", "max"), now);
  }
  const bool is_by_group = limits_.memory_bytes != 0 && !limits_.is_memory_watched;
  if (is_by_group && number_in("memory.current") > limits_.memory_bytes / 4 * 3) {
    GrantUse use = rough_use(processes(), limits_.files);
    // The kernel counts a kill before it makes it, and those that it kills have no memory any more.
    if (count_in("memory.events", "oom_kill") == 0) {
      last_ = std::move(use);
    }
  }
  if (!limits_.is_memory_watched && !limits_.are_processes_counted) {
    return;
  }
  const std::vector<pid_t> running = processes();
  if (limits_.are_processes_counted && running.size() > limits_.processes) {
    is_passed_ = true;  // There are too many to look at each.
    why_ = processes_end_text(limits_.processes, running.size());
    return;
  }
  look_at_memory(running);
}

void GrantWatch::look_at_memory(const std::vector<pid_t>& processes) {
  GrantUse use = rough_use(processes, limits_.files);
  if (limits_.are_processes_counted && use.processes > limits_.processes) {
    is_passed_ = true;
    why_ = processes_end_text(limits_.processes, use.processes);
    return;
  }
  const bool is_limited = limits_.is_memory_watched && limits_.memory_bytes != 0;
  if (!is_limited || use.memory_bytes <= limits_.memory_bytes) {
    return;
  }
  use = fair_use(processes, limits_.files);
  if (use.memory_bytes > limits_.memory_bytes) {
    is_passed_ = true;
    why_ = text_of(
        MemoryEnd{limits_.memory_bytes, use.memory_bytes, use.files_bytes, std::move(use.biggest)});
  }
}

std::string GrantWatch::why_ended(Instant now) {
  if (!why_.empty() || limits_.group.empty()) {
    return why_;
  }
  const bool has_memory = limits_.memory_bytes != 0 && !limits_.is_memory_watched;
  if (has_memory && count_in("memory.events", "oom_kill") > 0) {
    // Without `oom` the limit was not reached: the kernel killed for the sake of the host.
    why_ = count_in("memory.events", "oom") == 0
               ? kHostOutOfMemory
               : text_of(MemoryEnd{limits_.memory_bytes, number_in("memory.peak"),
                                   last_.files_bytes, last_.biggest});
    return why_;
  }
  if (are_forks_refused()) {
    refused_.saw(count_in("pids.events", "max"), now);
  }
  // Of this rank alone: the others go on, and may fail for another reason.
  return refused_.are_recent(now) ? processes_end_text(limits_.processes, 0) : "";
}

std::vector<pid_t> GrantWatch::processes() const {
  return has_own_proc_ ? processes_of_proc() : descendants_of(self_in_proc());
}

std::uint64_t GrantWatch::number_in(const std::string& file) const {
  const std::string text = read_file(limits_.group + "/" + file).value_or("");
  return std::strtoull(text.c_str(), nullptr, 10);
}

std::uint64_t GrantWatch::count_in(const std::string& file, std::string_view name) const {
  return counter_in(read_file(limits_.group + "/" + file).value_or(""), name);
}

}  // namespace muster::agent
