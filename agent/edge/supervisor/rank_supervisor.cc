#include "agent/edge/supervisor/rank_supervisor.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "agent/edge/grant/child_spawn.h"
#include "agent/edge/inheritance.h"
#include "agent/edge/isolation/control_group.h"
#include "agent/edge/isolation/machine_cores.h"
#include "agent/edge/supervisor/rank_supervisor_launch.h"
#include "agent/edge/supervisor/token_name.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

using scheduler::RankResult;
using Phase = SupervisorStatus::Phase;

/// A supervisor that was just starting when its agent died listens within this time.
constexpr int kConnectTries = 50;
constexpr useconds_t kConnectPauseUs = 20'000;
/// Between two tries to reach a supervisor whose backlog is full or that dropped us.
constexpr Duration kReconnectPause = std::chrono::seconds(1);
constexpr std::size_t kComplaintBytesMax = 200;
/// A trial takes no time.
constexpr Duration kTrialHold = std::chrono::seconds(30);
constexpr char kNoNamespaces[] =
    "PID namespaces are denied: see /proc/sys/user/max_pid_namespaces and max_user_namespaces";

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

/// Held while a supervisor lives. A free lock says that it began to die; its pidfd says when every
/// process under it is gone.
enum class Lock { kHeld, kFree, kUnknown };

/// Without descriptors or memory the agent can learn nothing of any supervisor. Other errors stay:
/// an agent that waited for their end would wait for ever.
bool blinds(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM;
}

Lock lock_of(const std::string& directory) {
  const Fd lock(open((directory + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  if (!lock.is_open()) {
    return blinds(errno) ? Lock::kUnknown : Lock::kFree;
  }
  const bool is_held = flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return is_held ? Lock::kHeld : Lock::kFree;
}

bool lacks_descriptors() {
  const Fd any(open("/", O_PATH | O_CLOEXEC));
  return !any.is_open() && blinds(errno);
}

bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

/// A rank that failed by itself while others run; null if no rank did. A supervisor takes no
/// result back, so that from one status to the next this begins once.
const RankResult* early_failure_in(const SupervisorStatus& status) {
  const auto failed =
      std::find_if(status.results.begin(), status.results.end(),
                   [](const RankResult& one) { return !one.is_success() && !one.signalled_by_us; });
  const bool others_run = status.results.size() < status.rank_count;
  return failed != status.results.end() && others_run ? &*failed : nullptr;
}

/// Whether it was told before that this rank drops output.
bool has_dropped(const std::optional<SupervisorStatus>& before, std::uint32_t rank) {
  return before.has_value() && std::any_of(before->dropped.begin(), before->dropped.end(),
                                           [&](const auto& one) { return one.rank == rank; });
}

}  // namespace

RankSupervisors::RankSupervisors(RankSupervisorsOptions options)
    : options_(std::move(options)),
      check_(options_.data_directory, options_.reserve, options_.trial_pause, options_.unfit),
      kept_(options_.data_directory + "/grants", options_.kept),
      rooms_(options_.room, cores_of_machine()) {}

RankSupervisors::~RankSupervisors() {
  reap_children();
}

std::string RankSupervisors::directory_of(Token token) const {
  return options_.data_directory + "/grants/" + token.text();
}

std::optional<int> RankSupervisors::pid_of(Token token) const {
  const auto it = handles_.find(token);
  return it != handles_.end() && it->second.pid > 0 ? std::optional(it->second.pid) : std::nullopt;
}

// ---- found at start ----

Status RankSupervisors::adopt() {
  const std::string grants = options_.data_directory + "/grants";
  const bool is_made = mkdir(grants.c_str(), 0700) == 0 || errno == EEXIST;
  DIR* folder = is_made ? opendir(grants.c_str()) : nullptr;
  if (folder == nullptr) {
    return Error{ErrorCode::kIo, grants + ": " + errno_text(errno)};
  }
  std::vector<Token> tokens;
  for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
    const std::optional<Token> token = token_named(entry->d_name);
    if (token.has_value() && exists(directory_of(*token) + "/lock")) {
      tokens.push_back(*token);
    } else if (token.has_value()) {
      kept_.add(*token, directory_of(*token));
    }
  }
  closedir(folder);
  remove_empty_groups(options_.room.group_root);
  scan_running_ = true;
  for (const Token token : tokens) {
    adopt_one(token);
  }
  tell_scanned();
  return ok();
}

void RankSupervisors::adopt_one(Token token) {
  Handle& handle = handles_[token];
  handle.token = token;
  handle.phase = HandlePhase::kFound;
  rooms_.found(token, directory_of(token));
  handle.answer_by = boot_now() + kSupervisorPatience;
  for (int i = 0; i < kConnectTries && !connect_to(handle); ++i) {
    const bool is_deaf = errno == EAGAIN;  // It listens, but its backlog is full.
    if (is_deaf || lock_of(directory_of(token)) != Lock::kHeld) {
      break;
    }
    usleep(kConnectPauseUs);
  }
  const bool is_gone = !open_pidfd(handle);
  if (!handle.socket.is_open() && is_gone) {
    on_dead(handle);
    return;
  }
  handle.connect_at = handle.socket.is_open() ? kNever : boot_now() + kReconnectPause;
}

bool RankSupervisors::connect_to(Handle& handle) const {
  // Through the directory's descriptor: the path may be longer than a socket address.
  const Fd folder(open(directory_of(handle.token).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/sock", folder.get());
  // Not blocking: a supervisor that hangs with a full backlog must not hang the agent.
  Fd socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!folder.is_open() ||
      connect(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return false;
  }
  handle.socket = std::move(socket_fd);
  handle.buffer.clear();
  return true;
}

/// The pid file says who it is, its start time that the number was not given away since. False when
/// it is gone: its lock is free, and nobody of that number and start time is there. True without a
/// pidfd: that could not be learned, or it has just begun.
bool RankSupervisors::open_pidfd(Handle& handle) const {
  const Lock lock = lock_of(directory_of(handle.token));
  if (lock == Lock::kUnknown) {
    return true;
  }
  errno = 0;
  const std::optional<std::string> text = read_file(directory_of(handle.token) + "/pid");
  int pid = 0;
  unsigned long long started = 0;
  if (!text.has_value() || std::sscanf(text->c_str(), "%d %llu", &pid, &started) != 2 || pid <= 0) {
    return lock == Lock::kHeld || blinds(errno);
  }
  errno = 0;
  Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const std::optional<std::uint64_t> since = pidfd.is_open() ? start_time_of(pid) : std::nullopt;
  if (since == std::optional<std::uint64_t>(started)) {
    handle.pid = pid;
    handle.pidfd = std::move(pidfd);
    return true;
  }
  // EINVAL: the number names a thread by now, or only a group.
  return lock == Lock::kHeld || (!since.has_value() && blinds(errno));
}

void RankSupervisors::tell_scanned() {
  const bool is_waiting = std::any_of(handles_.begin(), handles_.end(),
                                      [](const auto& entry) { return is_due(entry.second.phase); });
  if (scan_running_ && !is_waiting) {
    scan_running_ = false;
    inputs_.emplace_back(SupervisorsScanned{});
  }
}

// ---- commands ----

void RankSupervisors::carry_out(const SupervisorCommand& command,
                                const std::vector<std::string>& hosts) {
  if (const auto* launch = std::get_if<Launch>(&command)) {
    carry(*launch, hosts);
  } else if (const auto* prepare = std::get_if<Prepare>(&command)) {
    carry(*prepare);
  } else if (const auto* terminate = std::get_if<Terminate>(&command)) {
    carry(*terminate);
  } else if (const auto* renew = std::get_if<RenewHold>(&command)) {
    carry(*renew);
  } else if (const auto* forget = std::get_if<Forget>(&command)) {
    carry(*forget);
  }
}

void RankSupervisors::carry(const Prepare& command) {
  if (handle_of(command.token) != nullptr) {
    return;
  }
  Handle handle;
  handle.token = command.token;
  check_.look(boot_now());
  if (const std::string& why_not = check_.why_not(); !why_not.empty() && !is_trial(handle.token)) {
    inputs_.emplace_back(LaunchFailed{command.token, why_not});
    return;
  }
  const Result<RankUser> user =
      is_trial(handle.token) ? RankUser{} : rank_user(options_.users, command.user);
  if (!user) {
    inputs_.emplace_back(LaunchFailed{command.token, user.error().text, true});
    return;
  }
  if (const Status spawned = spawn(command, *user, handle); !spawned) {
    fail_launch(command.token, spawned.error().text);
    return;
  }
  handles_[command.token] = std::move(handle);
}

/// No rank runs, and the job is not to blame.
void RankSupervisors::fail_launch(Token token, const std::string& why) {
  check_.failed(boot_now(), why);
  rooms_.gone(token);
  remove_group_of_grant(options_.room.group_root + "/" + token.text());  // The next try makes one.
  if (is_trial(token)) {
    std::error_code ignored;
    std::filesystem::remove_all(directory_of(token), ignored);
  } else {
    inputs_.emplace_back(LaunchFailed{token, why});
  }
}

Status RankSupervisors::spawn(const Prepare& command, const RankUser& user, Handle& handle) {
  const std::string directory = directory_of(command.token);
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{ErrorCode::kIo, directory + ": " + errno_text(errno)};
  }
  const Result<std::string> held = rooms_.write(command, user, directory);
  if (!held) {
    return held.error();
  }
  const auto severity = is_trial(command.token) ? Severity::kDebug : Severity::kInfo;
  emit(severity, "ranks_of_grant_are_held", command.token, *held);
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{ErrorCode::kIo, "socketpair: " + errno_text(errno)};
  }
  handle.socket = Fd(ends[0]);
  const Fd theirs(ends[1]);
  ChildSpawn process{options_.executable,
                     {"muster", "supervise", directory, std::to_string(kChildSocket),
                      std::to_string(command.hold.count()),
                      command.hold_master_port ? options_.address.ip_text() : "-",
                      std::string(text_of(user.kind)), user.name},
                     theirs.get(),
                     directory + "/supervisor.log"};
  const int pid = spawn_child(process);
  if (pid < 0) {
    return Error{ErrorCode::kIo, options_.executable + ": " + errno_text(-pid)};
  }
  unreaped_.push_back(pid);
  return ok();
}

void RankSupervisors::carry(const Launch& command, const std::vector<std::string>& hosts) {
  Handle* handle = handle_of(command.record.token);
  if (handle == nullptr) {
    inputs_.emplace_back(LaunchFailed{command.record.token, "its supervisor is gone"});
    return;
  }
  take_step(handle->phase, HandleEvent::kLaunch);
  const scheduler::JobSpec& spec = command.record.spec;
  KeptGrants::name_job(directory_of(command.record.token), command.record.job,
                       {spec.user, spec.team});
  send(*handle, order_of(command, hosts));
}

void RankSupervisors::carry(const Terminate& command) {
  Handle* handle = handle_of(command.token);
  if (handle == nullptr) {
    inputs_.emplace_back(SupervisorGone{command.token, evidence_of(command.token)});
    return;
  }
  if (!handle->socket.is_open()) {
    connect_to(*handle);
  }
  send(*handle, TerminateOrder{command.grace, command.reason});
  const bool is_at_once = command.grace == Duration(0);
  if (is_silent(handle->phase) && is_at_once && handle->pidfd.is_open()) {
    // It obeys nothing, but its ranks are to go at once: with it the kernel ends them.
    emit(Severity::kWarn, "supervisor_killed", command.token, command.reason);
    syscall(SYS_pidfd_send_signal, handle->pidfd.get(), SIGKILL, nullptr, 0);
  }
}

void RankSupervisors::carry(const RenewHold& command) {
  Handle* handle = handle_of(command.token);
  if (handle != nullptr) {
    send(*handle, HoldOrder{command.hold_until});
  }
}

void RankSupervisors::carry(const Forget& command) {
  Handle* handle = handle_of(command.token);
  if (handle == nullptr) {
    clean(command.token);
    return;
  }
  take_step(handle->phase, HandleEvent::kDismiss);
  send(*handle, DismissOrder{});
}

/// Output stays.
void RankSupervisors::clean(Token token) {
  const std::string directory = directory_of(token);
  for (const char* name : {"evidence", "signalled", "spec", "evidence.new", "signalled.new",
                           "spec.new", "sock", "pid", "lock", kRoomFile}) {
    unlink((directory + "/" + name).c_str());
  }
  rmdir((directory + "/" + kRoomStage).c_str());
  if (!options_.room.group_root.empty()) {
    remove_group_of_grant(options_.room.group_root + "/" + token.text());
  }
  struct stat info {};
  const std::string log = directory + "/supervisor.log";
  if (stat(log.c_str(), &info) == 0 && info.st_size == 0) {
    unlink(log.c_str());
  }
  kept_.add(token, directory);
}

std::string RankSupervisors::why_no_output(Token token) const {
  const std::optional<PruneRule> rule = kept_.pruned(token);
  return rule.has_value() ? sentence_of(*rule, kept_.rule()) : "";
}

/// A host that can start nothing says so, and finds out by itself when it can again.
void RankSupervisors::look_at_host(Instant now) {
  check_.look(now);
  if (check_.begin_trial(now)) {
    carry(Prepare{kTrial, false, kTrialHold});
  }
  if (const std::optional<std::string> why_not = check_.take_change()) {
    inputs_.emplace_back(ShortageChanged{*why_not});
  }
}

// ---- what supervisors say ----

std::vector<int> RankSupervisors::fds() const {
  std::vector<int> fds;
  for (const auto& [token, handle] : handles_) {
    const int fd = handle.socket.is_open() ? handle.socket.get() : handle.pidfd.get();
    if (fd >= 0) {
      fds.push_back(fd);
    }
  }
  return fds;
}

void RankSupervisors::on_readable(int fd) {
  reap_children();
  const auto it = std::find_if(handles_.begin(), handles_.end(), [&](const auto& entry) {
    return entry.second.socket.get() == fd || entry.second.pidfd.get() == fd;
  });
  if (fd < 0 || it == handles_.end()) {
    return;
  }
  if (it->second.socket.get() == fd) {
    read(it->second);
  } else if (!it->second.socket.is_open() && is_readable(fd)) {
    on_dead(it->second);
  }
  tell_scanned();
}

void RankSupervisors::read(Handle& handle) {
  const bool is_open = receive_some(handle.socket.get(), handle.buffer);
  while (true) {
    Result<std::optional<SupervisorFrame>> frame = take_frame(handle.buffer);
    if (!frame || !frame->has_value()) {
      break;
    }
    if (auto* status = std::get_if<SupervisorStatus>(&**frame)) {
      on_status(handle, std::move(*status));
    }
  }
  if (!is_open) {
    on_closed(handle);
  }
}

void RankSupervisors::on_first_status(Handle& handle, const SupervisorStatus& status) {
  if (!handle.pidfd.is_open()) {
    open_pidfd(handle);
  }
  if (!status.has_namespace && told_.insert("no_pid_namespace").second) {
    emit(Severity::kWarn, "no_pid_namespace", handle.token,
         "ranks that fork away may outlive a killed supervisor");
  }
  if (status.has_namespace && !status.has_own_proc && told_.insert("no_own_proc").second) {
    emit(Severity::kWarn, "no_own_proc", handle.token,
         "mounting /proc is denied here: for ranks, /proc/<own number> is another process");
  }
  const bool was_found = is_found(handle.phase);
  take_step(handle.phase, HandleEvent::kAnswer);
  if (!was_found) {
    options_.expects_namespaces && !status.has_namespace ? check_.failed(boot_now(), kNoNamespaces)
                                                         : check_.worked();
  }
  if (is_trial(handle.token)) {
    carry(Forget{kTrial});
  } else if (is_dismissed(handle.phase)) {
    send(handle, DismissOrder{});  // An order sent while it was silent may not have reached it.
  } else if (!was_found && !status.refusal.empty()) {
    inputs_.emplace_back(LaunchFailed{handle.token, status.refusal, true});
  } else if (!was_found) {
    inputs_.emplace_back(SupervisorPrepared{handle.token, status.master, status.has_namespace});
  } else if (status.phase == Phase::kEnded) {
    take_step(handle.phase, HandleEvent::kRanksOver);
    inputs_.emplace_back(SupervisorGone{handle.token, evidence_of(handle.token)});
  } else {
    inputs_.emplace_back(SupervisorAdopted{handle.token, status.phase != Phase::kPrepared,
                                           status.hold_until, status.master});
  }
}

void RankSupervisors::on_status(Handle& handle, SupervisorStatus status) {
  if (!has_answered(handle.phase)) {
    on_first_status(handle, status);
  }
  if (status.phase == Phase::kRunning && take_step(handle.phase, HandleEvent::kRanksRun)) {
    inputs_.emplace_back(RanksStarted{handle.token});
  }
  const bool is_whole =
      status.phase == Phase::kEnded && take_step(handle.phase, HandleEvent::kRanksOver);
  for (const DroppedOutput& one : status.dropped) {
    if (is_whole || !has_dropped(handle.status, one.rank)) {
      inputs_.emplace_back(
          OutputDropped{handle.token, one.rank, one.lost_bytes, one.surplus_bytes, is_whole});
    }
  }
  const RankResult* failed = early_failure_in(status);
  const bool is_told = handle.status.has_value() && early_failure_in(*handle.status) != nullptr;
  if (failed != nullptr && !is_told) {
    inputs_.emplace_back(RankFailedEarly{handle.token, *failed});
  }
  if (is_whole) {
    inputs_.emplace_back(AllRanksEnded{handle.token, status.results});
  }
  handle.status = std::move(status);
}

/// Either it is dying, or it dropped a connection that read too slowly.
void RankSupervisors::on_closed(Handle& handle) {
  handle.socket.reset();
  handle.buffer.clear();
  const bool may_live =
      handle.pidfd.is_open() ? !is_readable(handle.pidfd.get()) : open_pidfd(handle);
  if (!may_live) {
    on_dead(handle);
    return;
  }
  reconnect(boot_now(), handle);
}

void RankSupervisors::reconnect(Instant now, Handle& handle) {
  const bool is_wanted = !handle.socket.is_open() && is_awaited(handle.phase);
  const bool has_failed = is_wanted && !connect_to(handle);
  // Neither a descriptor nor anything else would tell of its death.
  const bool is_unseen = !handle.socket.is_open() && !handle.pidfd.is_open();
  handle.connect_at = has_failed || is_unseen ? now + kReconnectPause : kNever;
}

void RankSupervisors::on_time(Instant now) {
  reap_children();
  look_at_host(now);
  kept_.expire(static_cast<std::uint64_t>(unix_now_ms()));
  for (Event& event : events_of(kept_.take_pruned(), kept_.rule())) {
    events_.push_back(std::move(event));
  }
  std::vector<Token> gone;
  for (auto& [token, handle] : handles_) {
    if (now >= handle.connect_at) {
      reconnect(now, handle);
      if (!handle.socket.is_open() && !handle.pidfd.is_open() && !open_pidfd(handle)) {
        gone.push_back(token);
        continue;
      }
    }
    if (now >= handle.answer_by && take_step(handle.phase, HandleEvent::kOverdue)) {
      inputs_.emplace_back(SupervisorSilent{token});
    }
  }
  for (const Token token : gone) {
    on_dead(handles_.at(token));
  }
  tell_scanned();
}

void RankSupervisors::on_dead(Handle& handle) {
  const Token token = handle.token;
  if (is_awaited(handle.phase) && lacks_descriptors()) {
    handle.socket.reset();  // Its evidence could not be read now.
    handle.pidfd.reset();
    handle.connect_at = boot_now() + kReconnectPause;
    return;
  }
  if (is_dismissed(handle.phase)) {
    clean(token);
  } else if (handle.phase == HandlePhase::kOrdered && !exists(directory_of(token) + "/spec")) {
    fail_launch(token, "its supervisor could not start: is the disk full?");
  } else if (handle.phase == HandlePhase::kSpawned) {
    std::string why = read_file(directory_of(token) + "/supervisor.log").value_or("");
    why.resize(std::min(why.size(), kComplaintBytesMax));
    fail_launch(token, "supervisor did not start: " + why);
  } else if (is_awaited(handle.phase)) {
    inputs_.emplace_back(SupervisorGone{token, evidence_of(token)});
  }
  handles_.erase(token);
  rooms_.gone(token);
}

std::optional<std::vector<RankResult>> RankSupervisors::evidence_of(Token token) const {
  const std::optional<std::string> bytes = read_file(directory_of(token) + "/evidence");
  return bytes.has_value() ? decode_results(*bytes) : std::nullopt;
}

std::vector<GangAgentInput> RankSupervisors::take_inputs() {
  on_time(boot_now());
  return std::exchange(inputs_, std::vector<GangAgentInput>());
}

std::vector<Event> RankSupervisors::take_events() {
  return std::exchange(events_, std::vector<Event>());
}

void RankSupervisors::send(Handle& handle, const SupervisorFrame& frame) {
  if (handle.socket.is_open() && !send_all(handle.socket.get(), encode_frame(frame))) {
    emit(Severity::kWarn, "supervisor_unreachable", handle.token, errno_text(errno));
  }
}

void RankSupervisors::reap_children() {
  for (const pid_t pid : reap_orphans()) {
    std::erase(unreaped_, pid);
  }
  std::erase_if(unreaped_, [](int pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

RankSupervisors::Handle* RankSupervisors::handle_of(Token token) {
  const auto it = handles_.find(token);
  return it == handles_.end() ? nullptr : &it->second;
}

void RankSupervisors::emit(Severity severity, std::string_view name, Token token,
                           const std::string& detail) {
  events_.push_back({severity, name, {{"token", token.text()}, {"detail", detail}}});
}

}  // namespace muster::agent
