#include "agent/edge/run/gpu_watch.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/isolation/control_group.h"

namespace muster::agent {
namespace {

/// Looks come fast for so long after one was asked for: its answer is under way by then.
constexpr Duration kHurry = std::chrono::seconds(1);
constexpr std::size_t kPasswdLinesMax = 4096;

std::string process_path(std::uint32_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

/// A directory of users may take long to answer, and the loop does not wait.
std::map<std::uint32_t, std::string> users_of_passwd() {
  std::map<std::uint32_t, std::string> users;
  FILE* const file = fopen("/etc/passwd", "re");
  if (file == nullptr) {
    return users;
  }
  for (const passwd* user = fgetpwent(file); user != nullptr && users.size() < kPasswdLinesMax;
       user = fgetpwent(file)) {
    users.try_emplace(user->pw_uid, user->pw_name);
  }
  static_cast<void>(fclose(file));
  return users;
}

std::string hook_json(const std::string& hook, std::string gpu) {
  std::erase_if(gpu, [](char letter) {
    return isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '-' && letter != '.';
  });
  return R"({"hook":")" + hook + R"(","gpu":")" + gpu + R"("})";
}

std::string program_of(std::uint32_t pid) {
  std::string name = read_file(process_path(pid, "comm")).value_or("");
  while (!name.empty() && name.back() == '\n') {
    name.pop_back();
  }
  return name;
}

}  // namespace

GpuWatch::GpuWatch(std::string group_root, HardwareSettings settings)
    : group_root_(std::move(group_root)),
      kernel_log_path_(std::move(settings.kernel_log)),
      hooks_(std::move(settings.hooks)) {
  const std::string mount = mount_of_groups();
  if (!group_root_.empty() && group_root_.starts_with(mount)) {
    group_path_ = group_root_.substr(mount == "/" ? 0 : mount.size());
  }
}

std::vector<int> GpuWatch::fds() const {
  std::vector<int> fds = hooks_.fds();
  if (kernel_log_ != nullptr) {
    fds.push_back(kernel_log_->fd());
  }
  return fds;
}

bool GpuWatch::owns(int fd) const {
  return hooks_.owns(fd) || (kernel_log_ != nullptr && kernel_log_->fd() == fd);
}

void GpuWatch::on_readable(Instant now, int fd) {
  if (hooks_.owns(fd)) {
    hooks_.on_readable(now, fd);
    hear_hooks();
  } else {
    read_kernel_log();
  }
}

void GpuWatch::on_time(Instant now) {
  hooks_.on_time(now);
  hear_hooks();
}

void GpuWatch::hear_hooks() {
  for (Hooks::Result& result : hooks_.take_results()) {
    if (result.kind == HookKind::kReset) {
      add(health::Input(health::ResetEnded{std::move(result.subject), std::move(result.failure)}));
    } else {
      add(health::Input(
          health::CheckEnded{std::move(result.subject), result.began, std::move(result.failure)}));
    }
  }
}

void GpuWatch::open_kernel_log(bool is_from_now) {
  const std::string path = std::exchange(kernel_log_path_, "");
  if (path.empty()) {
    return;
  }
  Result<std::unique_ptr<KernelLog>> log = KernelLog::open(path, is_from_now);
  if (!log) {
    events_.push_back(
        {Severity::kWarn,
         "kernel_log_unread",
         {{"why", log.error().text}, {"hint", "Xids come by the driver's library alone"}}});
    return;
  }
  kernel_log_ = std::move(log).value();
}

void GpuWatch::read_kernel_log() {
  if (kernel_log_ == nullptr) {
    return;
  }
  KernelLog::Turn turn = kernel_log_->read_some();
  for (KernelRecord& record : turn.found) {
    if (auto* const xid = std::get_if<KernelXid>(&record.found)) {
      add(health::Input(health::XidSeen{XidSource::kKernelLog, std::move(xid->uuid),
                                        std::move(xid->pci_id), xid->code, std::move(xid->text),
                                        record.sequence}));
    } else if (auto* const of_switch = std::get_if<KernelSwitchXid>(&record.found)) {
      add(health::Input(health::SwitchXidSeen{std::move(*of_switch), record.sequence}));
    }
  }
  if (turn.has_lost) {
    events_.push_back({Severity::kWarn,
                       "kernel_log_overrun",
                       {{"why", "the kernel wrote more than was read; an Xid may be among it"}}});
  }
  if (!turn.error.empty()) {
    events_.push_back({Severity::kWarn, "kernel_log_unread", {{"why", turn.error}}});
    kernel_log_.reset();
  }
}

void GpuWatch::obey(Instant now, const gpus::Command& command, GpuProber& prober) {
  std::visit([&](const auto& each) { obey(now, each, prober); }, command);
}

void GpuWatch::obey(Instant now, const gpus::CleanLook& look, GpuProber& prober) {
  if (looks_.size() < kGpusReadMax || looks_.contains(look.uuid)) {
    looks_[look.uuid] = {now, look.token};
    prober.hurry(now + kHurry);
  }
}

/// By descriptor, and only while the process is in the group of that grant: a pid may name another
/// one by now.
void GpuWatch::obey(Instant, const gpus::KillHolder& kill, GpuProber&) {
  const auto pid = static_cast<pid_t>(kill.pid);
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (process.is_open() && is_of_grant(kill.pid, kill.token) &&
      syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0) {
    events_.push_back({Severity::kWarn,
                       "gpu_holder_killed",
                       {{"gpu", kill.uuid}, {"pid", std::to_string(kill.pid)}}});
  }
}

void GpuWatch::obey(Instant now, const gpus::LookSoon&, GpuProber& prober) {
  prober.hurry(now + kHurry);
}

/// Without a hook this host has no way to reset a GPU: it comes back by a boot or an operator.
void GpuWatch::obey(Instant now, const gpus::ResetGpu& reset, GpuProber&) {
  if (hooks_.has(HookKind::kReset)) {
    add(health::Input(health::ResetBegan{reset.uuid}));
    hooks_.start(now, HookKind::kReset, reset.uuid, hook_json("reset", reset.uuid));
    hear_hooks();
  }
}

void GpuWatch::obey(Instant now, const gpus::CheckGpu& check, GpuProber& prober) {
  if (checks_.size() < kGpusReadMax) {
    checks_.emplace(check.uuid, now);
    prober.hurry(now + kHurry);
  }
}

void GpuWatch::hear(const XidEvent& xid) {
  add(health::Input(health::XidSeen{XidSource::kEvent, xid.uuid, xid.pci_id, xid.code, "", 0}));
}

void GpuWatch::see(Instant now, const ProbeView& view, GpuProber&) {
  gpus::Viewed viewed;
  std::vector<health::Input> checked;
  users_.clear();
  for (std::size_t i = 0; i < view.machine.gpus.size(); ++i) {
    const GpuReading& gpu = view.machine.gpus[i];
    const bool is_read = view.sights[i] == GpuSight::kRead && gpu.error.empty();
    if (const auto look = looks_.find(gpu.uuid); look != looks_.end()) {
      if (!is_read) {
        viewed.not_seen.push_back({gpu.uuid});
        looks_.erase(look);
      } else if (view.began[i] >= look->second.asked_at) {
        viewed.seen.push_back(seen(gpu, view.began[i], look->second.token));
        looks_.erase(look);
      }
    }
    const auto check = checks_.find(gpu.uuid);
    if (check != checks_.end() && is_read && view.began[i] >= check->second) {
      const bool is_due =
          gpu.recovery.value_or(RecoveryAction::kNothing) != RecoveryAction::kNothing;
      if (!is_due && hooks_.has(HookKind::kHealth)) {
        hooks_.start(now, HookKind::kHealth, gpu.uuid, hook_json("health", gpu.uuid));
        checks_.erase(check);
        continue;
      }
      checked.push_back(health::CheckEnded{gpu.uuid, check->second,
                                           is_due ? "the driver asks for a recovery of it" : ""});
      checks_.erase(check);
    }
  }
  viewed.view = view;
  add(std::move(viewed));
  for (health::Input& each : checked) {
    add(std::move(each));
  }
  hear_hooks();
}

clean::Seen GpuWatch::seen(const GpuReading& gpu, Instant began, Token token) {
  clean::Seen seen;
  seen.uuid = gpu.uuid;
  seen.began = began;
  seen.recovery = gpu.recovery;
  if (gpu.memory.has_value()) {
    seen.used_bytes = gpu.memory->used_bytes;
  }
  if (gpu.processes.has_value()) {
    seen.holders.emplace();
    for (const GpuProcess& process : *gpu.processes) {
      seen.holders->push_back(holder(process.pid, token));
    }
  }
  if (token == Token()) {
    seen.is_cgroup_empty = true;  // No grant is known that could have one.
  } else if (!group_root_.empty()) {
    seen.is_cgroup_empty = is_group_empty(group_root_ + "/" + token.text() + "/ranks");
  }
  return seen;
}

clean::Holder GpuWatch::holder(std::uint32_t pid, Token token) {
  return {pid, is_of_grant(pid, token), user_of(pid), program_of(pid)};
}

/// The name in /etc/passwd, or "uid N".
std::string GpuWatch::user_of(std::uint32_t pid) {
  struct stat owner {};
  if (stat(process_path(pid, "").c_str(), &owner) != 0) {
    return "";
  }
  if (users_.empty()) {
    users_ = users_of_passwd();
  }
  const auto found = users_.find(owner.st_uid);
  return found == users_.end() ? "uid " + std::to_string(owner.st_uid) : found->second;
}

/// By its control group, as the kernel tells it.
bool GpuWatch::is_of_grant(std::uint32_t pid, Token token) const {
  if (group_path_.empty() || token == Token()) {
    return false;
  }
  const std::string groups = read_file(process_path(pid, "cgroup")).value_or("");
  return groups.find("0::" + group_path_ + "/" + token.text() + "/") != std::string::npos;
}

void GpuWatch::add(gpus::Input fact) {
  if (facts_.size() >= kFactsMax) {
    facts_.erase(facts_.begin());
  }
  facts_.push_back(std::move(fact));
}

std::vector<gpus::Input> GpuWatch::take_facts() {
  return std::exchange(facts_, {});
}

std::vector<Event> GpuWatch::take_events() {
  return std::exchange(events_, {});
}

}  // namespace muster::agent
