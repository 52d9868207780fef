#include "agent/edge/ranks/supervise.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/isolation/own_spaces.h"
#include "agent/edge/isolation/room_maker.h"
#include "agent/edge/ranks/supervisor.h"
#include "agent/edge/ranks/supervisor_log.h"
#include "agent/edge/ranks/user_lookup.h"

namespace muster::agent {
namespace {

struct Arguments {
  std::string directory;
  int socket = -1;
  Duration hold{0};
  std::string listen_address;
  RankUser user;
};

template <class T>
bool parse_number(const char* text, T& number) {
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  return error == std::errc() && *end == '\0';
}

std::optional<Arguments> parse(int argc, char** argv) {
  static constexpr int kArguments = 8;
  Arguments arguments;
  std::int64_t hold = 0;
  if (argc != kArguments || !parse_number(argv[3], arguments.socket) ||
      !parse_number(argv[4], hold)) {
    return std::nullopt;
  }
  const std::optional<RankUser::Kind> kind = rank_user_kind_of(argv[6]);
  if (!kind.has_value()) {
    return std::nullopt;
  }
  arguments.user = {*kind, argv[7]};
  arguments.directory = argv[2];
  arguments.hold = Duration(hold);
  arguments.listen_address = argv[5];
  return arguments;
}

bool write_plain(const std::string& path, const std::string& text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const bool is_written = fd.is_open() && write(fd.get(), text.data(), text.size()) ==
                                              static_cast<ssize_t>(text.size());
  if (!is_written) {
    log_failure(path + ": " + errno_text(errno));
  }
  return is_written;
}

/// The user that ranks become, as this host knows it, or why none may.
RankPerson resolve(const RankUser& user) {
  if (user.kind == RankUser::Kind::kAgent) {
    return {};
  }
  Result<RankIdentity> found = look_up(user.name);
  if (!found) {
    return {std::nullopt, found.error().text};
  }
  if (std::optional<std::string> why_not = why_not_become(*found, user.kind)) {
    return {std::nullopt, *std::move(why_not)};
  }
  return {*std::move(found), ""};
}

/// Keys of the session that started the agent, as tickets of root's are, would go on to ranks,
/// whatever user they become: this process and its ranks have a keyring of the grant. Where keys
/// are unknown or refused ranks reach none.
bool leave_keyring() {
  return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0 || errno == ENOSYS ||
         errno == EPERM;
}

/// Makes the room that the agent planned. Without the file of a plan there is no room.
bool make_room(RoomMaker& maker, const RankPerson& person, RoomLimits& limits) {
  const std::optional<std::string> bytes = read_file(kRoomFile);
  if (!bytes.has_value()) {
    return errno == ENOENT;
  }
  const std::optional<RoomPlan> plan = decode_room_plan(*bytes);
  if (!plan.has_value()) {
    log_failure("the plan of its room is damaged, or of another version");
    return false;
  }
  limits = limits_of(*plan);
  const Status made = maker.make(*plan, person.identity);
  if (!made) {
    log_failure(made.error().text);
  }
  return static_cast<bool>(made);
}

/// The parent's half: tells where the supervisor is, then lets it begin and goes away.
[[noreturn]] void leave(pid_t supervisor, int barrier) {
  // Unknown it could not be watched, so it does not begin.
  const std::optional<std::uint64_t> started = start_time_of(supervisor);
  const bool is_told =
      started.has_value() &&
      write_plain("pid", std::to_string(supervisor) + " " + std::to_string(*started)) &&
      write(barrier, "", 1) == 1;
  _exit(is_told ? 0 : 1);
}

}  // namespace

bool can_make_pid_namespace(bool become_users) {
  const pid_t child = fork();
  if (child == 0) {
    const bool can =
        unshare(CLONE_NEWPID) == 0 || (!become_users && unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0);
    _exit(can ? 0 : 1);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int supervise_main(int argc, char** argv) {
  static constexpr int kUsage = 2;
  static constexpr int kConflict = 7;
  const std::optional<Arguments> arguments = parse(argc, argv);
  if (!arguments.has_value() || chdir(arguments->directory.c_str()) != 0) {
    log_failure("usage: supervise DIRECTORY SOCKET_FD HOLD_NS LISTEN_ADDRESS KIND USER");
    return kUsage;
  }
  fcntl(arguments->socket, F_SETFD, FD_CLOEXEC);
  const Fd lock(::open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    log_failure("another supervisor holds " + arguments->directory);
    return kConflict;
  }
  int barrier[2] = {-1, -1};
  const auto [has_namespace, trouble] =
      enter_own_processes(arguments->user.kind != RankUser::Kind::kAgent);
  if (!trouble.empty()) {
    log_failure(trouble);
  }
  if (pipe2(barrier, O_CLOEXEC) != 0) {
    return 1;
  }
  const pid_t child = fork();
  if (child != 0) {
    if (child < 0) {
      log_failure("fork: " + errno_text(errno));
      return 1;
    }
    leave(child, barrier[1]);
  }
  setsid();
  close(barrier[1]);  // With an end of our own open, the parent's death would never be read.
  char byte = 0;
  const bool may_begin = read(barrier[0], &byte, 1) == 1;
  close(barrier[0]);
  if (!may_begin) {
    _exit(1);
  }
  if (!has_namespace) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  // The agent's own user loses nothing by its own keys when its quota of keyrings is used up.
  if (!leave_keyring() && arguments->user.kind != RankUser::Kind::kAgent) {
    log_failure("a keyring of its own: " + errno_text(errno));
    _exit(1);
  }
  const bool has_own_proc = has_namespace && enter_own_mounts();
  RankPerson person = resolve(arguments->user);
  RoomMaker maker(has_own_proc);
  RoomLimits limits;
  if (person.refusal.empty() && !make_room(maker, person, limits)) {
    _exit(1);
  }
  Supervisor supervisor(arguments->socket, arguments->hold,
                        {has_namespace, has_own_proc, maker.group_of_ranks(), std::move(limits)},
                        std::move(person));
  if (!supervisor.open(arguments->listen_address)) {
    _exit(1);
  }
  supervisor.run();
}

}  // namespace muster::agent
