#include "agent/edge/supervisor/supervise.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <list>
#include <utility>
#include <vector>

#include "agent/edge/supervisor/supervise_protocol.h"
#include "agent/edge/supervisor/supervise_rank.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

using scheduler::RankResult;
using Phase = SupervisorStatus::Phase;

/// Agents that may wait for their turn: one is the rule.
constexpr int kWaitingMax = 4;
/// How long a new agent waits for the one before to hang up. The kernel does that for a dead agent
/// as soon as it reaps it; longer than this takes only one that hangs.
constexpr Duration kLastWords = std::chrono::seconds(2);
/// Reads of one turn of the loop: more than a socket buffers, so all that a dead agent left.
constexpr int kReadsMax = 64;
/// Between two rounds of KILL where no PID namespace can be killed at once.
constexpr Duration kKillRound = std::chrono::milliseconds(20);

void complain(const std::string& text) {
  std::fprintf(stderr, "supervisor: %s\n", text.c_str());
}

/// The one agent that is obeyed, from its first word to its hanging up.
struct Connection {
  Fd socket;
  std::string buffer;
  bool is_told = true;  ///< False: it reads nothing any more. What it said still counts.
};

/// The whole life of a supervisor, in its own process, in the directory of its grant.
class Supervisor {
 public:
  Supervisor(int agent_socket, Duration hold, bool has_namespace)
      : has_namespace_(has_namespace), hold_until_(boot_now() + hold) {
    agent_.socket = Fd(agent_socket);
  }
  bool open(const std::string& listen_address);
  [[noreturn]] void run();

 private:
  bool hold_master_port(const std::string& address);
  bool listen_for_agents();
  void accept_agent();
  void hear_agent();
  bool obey_frames();
  void obey(const LaunchOrder& order);
  void obey(const TerminateOrder& order) { terminate(order.grace, order.reason); }
  void obey(const HoldOrder& order) { hold_until_ = std::max(hold_until_, order.hold_until); }
  void obey(const DismissOrder&);
  void obey(const SupervisorStatus&) {}
  void terminate(Duration grace, const std::string& reason);
  void kill_everything();
  void reap();
  void on_exec_pipes(const std::vector<pollfd>& polled);
  void copy_output();
  void on_time();
  void on_progress();
  void finish();
  void arm_timer();
  std::vector<pollfd> poll_set() const;
  SupervisorStatus status() const;
  void tell();

  bool has_namespace_;
  Instant hold_until_;
  Instant kill_at_ = kNever;
  Phase phase_ = Phase::kPrepared;
  bool is_keep_ = false;
  bool is_empty_ = false;  ///< No child is left.
  Duration grace_{0};
  gossip::Endpoint master_;
  Fd master_socket_;
  Fd listener_;
  Fd signals_;
  Fd timer_;
  Connection agent_;
  Instant turn_at_ = kNever;  ///< When an agent that waits is heard, whatever the old one does.
  std::list<SupervisedRank> ranks_;
  std::vector<RankResult> results_;  ///< In order of ending.
  std::size_t told_count_ = 0;       ///< Of results_.
};

sockaddr_storage address_of(const gossip::Endpoint& endpoint, socklen_t& size) {
  sockaddr_storage storage{};
  if (endpoint.is_ipv4()) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    v4->sin_family = AF_INET;
    std::memcpy(&v4->sin_addr, endpoint.ip.data() + 12, 4);
    size = sizeof(sockaddr_in);
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    v6->sin6_family = AF_INET6;
    std::memcpy(&v6->sin6_addr, endpoint.ip.data(), 16);
    size = sizeof(sockaddr_in6);
  }
  return storage;
}

/// Bound, never listening: nobody else is given the port, and rank 0, which sets SO_REUSEADDR, can
/// still listen on it.
bool Supervisor::hold_master_port(const std::string& address) {
  const std::optional<gossip::Endpoint> wanted = gossip::Endpoint::parse(address, 0);
  if (!wanted.has_value()) {
    complain("no address: " + address);
    return false;
  }
  master_ = *wanted;
  socklen_t size = 0;
  sockaddr_storage storage = address_of(master_, size);
  master_socket_ = Fd(socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  setsockopt(master_socket_.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  auto* raw = reinterpret_cast<sockaddr*>(&storage);
  if (bind(master_socket_.get(), raw, size) != 0 ||
      getsockname(master_socket_.get(), raw, &size) != 0) {
    complain("cannot hold a port on " + address + ": " + errno_text(errno));
    return false;
  }
  master_.port =
      ntohs(storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&storage)->sin_port
                                         : reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port);
  return true;
}

bool Supervisor::listen_for_agents() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, "sock", sizeof address.sun_path - 1);
  unlink("sock");
  listener_ = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_.get(), kWaitingMax) != 0) {
    complain("sock: " + errno_text(errno));
    return false;
  }
  return true;
}

bool Supervisor::open(const std::string& listen_address) {
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) {
    ::signal(number, SIG_IGN);
  }
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, nullptr);
  signals_ = Fd(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  timer_ = Fd(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  const bool holds_port = listen_address != "-";
  return signals_.is_open() && timer_.is_open() && listen_for_agents() &&
         (!holds_port || hold_master_port(listen_address));
}

std::vector<pollfd> Supervisor::poll_set() const {
  // A negative descriptor is ignored: who waits already need not wake us again.
  const int listener = turn_at_ == kNever ? listener_.get() : -1;
  std::vector<pollfd> set = {{signals_.get(), POLLIN, 0},
                             {timer_.get(), POLLIN, 0},
                             {listener, POLLIN, 0},
                             {agent_.socket.get(), POLLIN, 0}};
  for (const SupervisedRank& rank : ranks_) {
    set.push_back({rank.exec_pipe(), POLLIN, 0});
    set.push_back({rank.output_pipe(), POLLIN, 0});
  }
  return set;
}

/// After a pause, what was said before it counts before the time that passed in it.
void Supervisor::run() {
  tell();
  while (true) {
    arm_timer();
    std::vector<pollfd> set = poll_set();
    if (poll(set.data(), set.size(), -1) < 0 && errno != EINTR) {
      complain("poll: " + errno_text(errno));
    }
    on_exec_pipes(set);
    copy_output();
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) > 0) {
    }
    reap();
    hear_agent();
    on_time();
    accept_agent();
    on_progress();
  }
}

void Supervisor::copy_output() {
  for (SupervisedRank& rank : ranks_) {
    rank.copy_output();
  }
}

void Supervisor::arm_timer() {
  const bool is_watching_hold =
      phase_ != Phase::kStopping && !(is_keep_ && phase_ != Phase::kPrepared);
  const Instant at = std::min({kill_at_, turn_at_, is_watching_hold ? hold_until_ : kNever});
  itimerspec spec{};
  if (at != kNever) {
    // Zero would disarm: a deadline in the past is one nanosecond after boot.
    const auto since_boot = std::max(at.time_since_epoch(), Duration(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
    spec.it_value.tv_sec = seconds.count();
    spec.it_value.tv_nsec = (since_boot - seconds).count();
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void Supervisor::on_time() {
  const Instant now = boot_now();
  std::uint64_t expirations = 0;
  while (read(timer_.get(), &expirations, sizeof expirations) > 0) {
  }
  if (now >= kill_at_) {
    kill_everything();
    kill_at_ = has_namespace_ ? kNever : now + kKillRound;
  }
  if (now < hold_until_ || phase_ == Phase::kStopping) {
    return;
  }
  if (phase_ == Phase::kPrepared) {
    _exit(0);
  }
  if (!is_keep_) {
    terminate(grace_, "isolated");
  }
}

/// One agent at a time, and the next only after the last word of the one before: an order that lies
/// unread when its agent dies is obeyed before the next agent asks how things stand.
void Supervisor::accept_agent() {
  pollfd newcomer{listener_.get(), POLLIN, 0};
  if (poll(&newcomer, 1, 0) <= 0) {
    return;
  }
  if (agent_.socket.is_open()) {
    const Instant now = boot_now();
    turn_at_ = std::min(turn_at_, now + kLastWords);
    if (now < turn_at_) {
      return;
    }
    complain("the agent before did not hang up");
  }
  agent_ = {Fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)), {}, true};
  if (!agent_.socket.is_open()) {
    turn_at_ = boot_now() + kLastWords;  // No descriptor is left: not tried again at once.
    return;
  }
  turn_at_ = kNever;
  tell();
}

void Supervisor::hear_agent() {
  for (int i = 0; i < kReadsMax && agent_.socket.is_open(); ++i) {
    const std::size_t known = agent_.buffer.size();
    const bool is_open = receive_some(agent_.socket.get(), agent_.buffer);
    const bool has_more = is_open && agent_.buffer.size() > known;
    if (!obey_frames() || !is_open) {
      agent_.socket.reset();
    }
    if (!has_more) {
      return;
    }
  }
}

/// False: what talks to us is no agent.
bool Supervisor::obey_frames() {
  while (true) {
    const Result<std::optional<SupervisorFrame>> frame = take_frame(agent_.buffer);
    if (!frame || !frame->has_value()) {
      return frame.has_value();
    }
    std::visit([&](const auto& order) { obey(order); }, **frame);
  }
}

void Supervisor::obey(const LaunchOrder& order) {
  if (phase_ != Phase::kPrepared) {
    return;
  }
  // Exists before the first exec: a grant with it and without evidence is lost, not never run. A
  // supervisor that ends without it says that nothing ran.
  const Status written = write_file_durably(".", "spec", encode_frame(order));
  if (!written) {
    complain(written.error().text);
    unlink("spec");
    _exit(1);
  }
  phase_ = Phase::kLaunching;
  is_keep_ = order.keep_when_isolated;
  grace_ = order.grace;
  hold_until_ = std::max(hold_until_, order.hold_until);
  for (const RankPlan& plan : order.ranks) {
    ranks_.emplace_back().start(plan, order, !has_namespace_);
    if (ranks_.back().has_ended()) {
      results_.push_back(ranks_.back().result());
    }
  }
}

void Supervisor::obey(const DismissOrder&) {
  if (phase_ == Phase::kPrepared) {
    _exit(0);
  }
  if (phase_ == Phase::kLaunching || phase_ == Phase::kRunning) {
    terminate(Duration(0), "dismissed");  // Nobody wants what runs here any more.
  }
}

/// Design 8, rule 5: the mark is durable before the first TERM, and a rank that ended before it
/// keeps its own exit status. Without the mark nobody may be asked to end: an exit 0 on our TERM
/// would count.
void Supervisor::terminate(Duration grace, const std::string& reason) {
  if (phase_ == Phase::kPrepared) {
    _exit(0);
  }
  if (phase_ == Phase::kStopping) {
    kill_at_ = std::min(kill_at_, boot_now() + grace);  // Once more, or sooner.
    return;
  }
  reap();
  const Status marked = write_file_durably(".", "signalled", reason);
  if (!marked) {
    complain(marked.error().text);
  }
  phase_ = Phase::kStopping;
  for (SupervisedRank& rank : ranks_) {
    if (!rank.has_ended()) {
      rank.mark_signalled();
      marked ? rank.signal(SIGTERM) : rank.mark_lost(marked.error().text);
    }
  }
  kill_at_ = boot_now() + (marked ? grace : Duration(0));
  tell();
}

/// As PID 1 this reaches every process of the namespace, wherever it forked to. Without one the
/// children go, and what they leave behind becomes our child and goes in the next round.
void Supervisor::kill_everything() {
  if (has_namespace_) {
    kill(-1, SIGKILL);
    return;
  }
  const std::string self = std::to_string(getpid());
  const std::optional<std::string> children =
      read_file("/proc/" + self + "/task/" + self + "/children");
  const char* at = children.has_value() ? children->c_str() : "";
  char* end = nullptr;
  for (long pid = std::strtol(at, &end, 10); end != at; pid = std::strtol(at, &end, 10)) {
    kill(static_cast<pid_t>(pid), SIGKILL);
    at = end;
  }
}

void Supervisor::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    const auto rank = std::find_if(ranks_.begin(), ranks_.end(),
                                   [&](const SupervisedRank& one) { return one.pid() == pid; });
    if (rank == ranks_.end() || rank->has_ended()) {
      continue;
    }
    rank->on_exit(status);
    results_.push_back(rank->result());
  }
  is_empty_ = pid < 0 && errno == ECHILD;
}

void Supervisor::on_exec_pipes(const std::vector<pollfd>& polled) {
  for (SupervisedRank& rank : ranks_) {
    const auto entry = std::find_if(polled.begin(), polled.end(), [&](const pollfd& one) {
      return one.fd == rank.exec_pipe() && one.revents != 0;
    });
    if (rank.exec_pipe() < 0 || entry == polled.end()) {
      continue;
    }
    rank.on_exec_decided();
    if (rank.has_ended()) {
      results_.push_back(rank.result());
    }
  }
}

void Supervisor::on_progress() {
  if (phase_ == Phase::kPrepared) {
    return;
  }
  const bool is_launched = std::none_of(ranks_.begin(), ranks_.end(),
                                        [](const auto& rank) { return rank.exec_pipe() >= 0; });
  const bool has_news = told_count_ != results_.size();
  told_count_ = results_.size();
  if (phase_ == Phase::kLaunching && is_launched) {
    phase_ = Phase::kRunning;
    tell();
  } else if (has_news) {
    tell();
  }
  if (results_.size() < ranks_.size()) {
    return;
  }
  reap();
  if (is_empty_) {
    finish();
  }
  kill_everything();  // What forked away ends with its grant.
  kill_at_ = has_namespace_ ? kNever : boot_now() + kKillRound;
}

void Supervisor::finish() {
  copy_output();
  std::vector<RankResult> ordered;
  for (const SupervisedRank& rank : ranks_) {
    ordered.push_back(rank.result());
  }
  const Status written = write_file_durably(".", "evidence", encode_results(ordered));
  if (!written) {
    complain(written.error().text);
    _exit(1);
  }
  results_ = ordered;
  phase_ = Phase::kEnded;
  tell();
  _exit(0);
}

SupervisorStatus Supervisor::status() const {
  return {phase_,  has_namespace_, static_cast<std::uint32_t>(ranks_.size()),
          master_, hold_until_,    results_};
}

/// An agent that does not take it, dead or too slow, sees the end of what we say. It is heard until
/// it hangs up: its orders may lie here unread.
void Supervisor::tell() {
  const bool wants_it = agent_.socket.is_open() && agent_.is_told;
  if (wants_it && !send_all(agent_.socket.get(), encode_frame(status()))) {
    agent_.is_told = false;
    shutdown(agent_.socket.get(), SHUT_WR);
  }
}

// ---- becoming a supervisor ----

struct Arguments {
  std::string directory;
  int socket = -1;
  Duration hold{0};
  std::string listen_address;
};

template <class T>
bool parse_number(const char* text, T& number) {
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  return error == std::errc() && *end == '\0';
}

std::optional<Arguments> parse(int argc, char** argv) {
  static constexpr int kArguments = 6;
  Arguments arguments;
  std::int64_t hold = 0;
  if (argc != kArguments || !parse_number(argv[3], arguments.socket) ||
      !parse_number(argv[4], hold)) {
    return std::nullopt;
  }
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
    complain(path + ": " + errno_text(errno));
  }
  return is_written;
}

/// Our children are in the new namespace afterwards; the first is its PID 1.
bool enter_namespace() {
  if (unshare(CLONE_NEWPID) == 0) {
    return true;
  }
  const std::string uid = std::to_string(geteuid());
  const std::string gid = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
    return false;
  }
  write_plain("/proc/self/setgroups", "deny");
  write_plain("/proc/self/uid_map", uid + " " + uid + " 1");
  write_plain("/proc/self/gid_map", gid + " " + gid + " 1");
  return true;
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

bool can_make_pid_namespace() {
  const pid_t child = fork();
  if (child == 0) {
    const bool can = unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
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
    complain("usage: supervise DIRECTORY SOCKET_FD HOLD_NS LISTEN_ADDRESS");
    return kUsage;
  }
  fcntl(arguments->socket, F_SETFD, FD_CLOEXEC);
  const Fd lock(::open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    complain("another supervisor holds " + arguments->directory);
    return kConflict;
  }
  int barrier[2] = {-1, -1};
  const bool has_namespace = enter_namespace();
  if (pipe2(barrier, O_CLOEXEC) != 0) {
    return 1;
  }
  const pid_t child = fork();
  if (child != 0) {
    if (child < 0) {
      complain("fork: " + errno_text(errno));
      return 1;
    }
    leave(child, barrier[1]);
  }
  setsid();
  close(barrier[1]);  // With an end of our own open, the parent's death would never be read.
  char byte = 0;
  const bool may_begin = read(barrier[0], &byte, 1) == 1;
  close(barrier[0]);
  if (!has_namespace) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  Supervisor supervisor(arguments->socket, arguments->hold, has_namespace);
  if (!may_begin || !supervisor.open(arguments->listen_address)) {
    _exit(1);
  }
  supervisor.run();
}

}  // namespace muster::agent
