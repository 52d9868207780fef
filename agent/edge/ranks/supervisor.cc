#include "agent/edge/ranks/supervisor.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "agent/edge/ranks/supervisor_log.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

using scheduler::RankResult;
using Phase = SupervisorStatus::Phase;

/// Between two rounds of KILL where no PID namespace can be killed at once.
constexpr Duration kKillRound = std::chrono::milliseconds(20);

/// Until a rank has executed its program it has the memory of this process, which may be more than
/// it was given. A program on a file server that hangs leaves its siblings unwatched for so long.
constexpr Duration kExecPatience = std::chrono::seconds(5);

/// True when it is well; else it says why not.
bool is_good(const Status& status) {
  if (!status) {
    log_failure(status.error().text);
  }
  return static_cast<bool>(status);
}

}  // namespace

Supervisor::Supervisor(int agent_socket, Duration hold, SupervisorSpace space, RankPerson person)
    : space_(std::move(space)),
      person_(std::move(person)),
      processes_(space_.has_namespace),
      timer_(boot_now() + hold),
      watch_(space_.limits, space_.has_own_proc),
      agent_(agent_socket) {}

bool Supervisor::open(const std::string& listen_address) {
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) {
    ::signal(number, SIG_IGN);
  }
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, nullptr);
  signals_ = Fd(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  const bool holds_port = listen_address != "-";
  return signals_.is_open() && timer_.open() && is_good(agent_.open()) &&
         (!holds_port || is_good(master_.hold(listen_address)));
}

std::vector<pollfd> Supervisor::poll_set() const {
  std::vector<pollfd> set = {{signals_.get(), POLLIN, 0},
                             {timer_.descriptor(), POLLIN, 0},
                             agent_.newcomer(),
                             agent_.words()};
  for (const SupervisedRank& rank : ranks_) {
    set.push_back({rank.exec_pipe(), POLLIN, 0});
    for (const int pipe : rank.output_pipes()) {
      set.push_back({pipe, POLLIN, 0});
    }
  }
  return set;
}

bool Supervisor::is_watching_hold() const {
  return phase_ != Phase::kStopping && !(is_keep_ && phase_ != Phase::kPrepared);
}

/// After a pause, what was said before it counts before the time that passed in it.
void Supervisor::run() {
  tell();
  while (true) {
    timer_.arm(is_watching_hold(), std::min(agent_.turn_at(), watch_.next_look()));
    std::vector<pollfd> set = poll_set();
    if (poll(set.data(), set.size(), -1) < 0 && errno != EINTR) {
      log_failure("poll: " + errno_text(errno));
    }
    on_exec_pipes(set);
    copy_output();
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) > 0) {
    }
    reap();
    agent_.hear([this](const SupervisorFrame& frame) {
      std::visit([this](const auto& order) { obey(order); }, frame);
    });
    on_time();
    if (agent_.accept(boot_now())) {
      tell();
    }
    on_progress();
  }
}

void Supervisor::copy_output() {
  for (SupervisedRank& rank : ranks_) {
    const bool had_dropped = rank.has_dropped();
    rank.copy_output();
    has_news_ = has_news_ || rank.has_dropped() != had_dropped;
  }
}

void Supervisor::on_time() {
  const Instant now = boot_now();
  timer_.clear();
  if (timer_.is_kill_due(now)) {
    processes_.kill();
    timer_.kill_at(space_.has_namespace ? kNever : now + kKillRound);
  }
  // No mark of a signal is needed: no program ends well by KILL.
  if (watch_.must_end(now)) {
    processes_.kill();
    timer_.kill_at(space_.has_namespace ? kNever : now + kKillRound);
  }
  if (!timer_.is_over(now) || phase_ == Phase::kStopping) {
    return;
  }
  if (phase_ == Phase::kPrepared) {
    _exit(0);
  }
  if (!is_keep_) {
    terminate(grace_, "isolated");
  }
}

void Supervisor::obey(const LaunchOrder& order) {
  if (phase_ != Phase::kPrepared || !person_.refusal.empty()) {
    return;
  }
  // Exists before the first exec: a grant with it and without evidence is lost, not never run. A
  // supervisor that ends without it says that nothing ran.
  if (!is_good(evidence_.reserve(order)) ||
      !is_good(write_file_durably(".", "spec", encode_frame(order)))) {
    unlink("spec");
    _exit(1);
  }
  phase_ = Phase::kLaunching;
  is_keep_ = order.keep_when_isolated;
  grace_ = order.grace;
  timer_.prolong(order.hold_until);
  const ProcessorMask processors = mask_of(watch_.affinity());
  watch_.begin(boot_now() + kExecPatience);
  for (const RankPlan& plan : order.ranks) {
    ranks_.emplace_back().start(plan, order,
                                {person_.identity, !space_.has_namespace, kernel_calls(),
                                 space_.group_of_ranks, processors});
    if (ranks_.back().has_ended()) {
      evidence_.add(ranks_.back().result());
    }
  }
}

void Supervisor::obey(const DismissOrder&) {
  if (phase_ == Phase::kPrepared) {
    _exit(0);
  }
  if (phase_ == Phase::kLaunching || phase_ == Phase::kRunning) {
    terminate(Duration(0), "dismissed");  // No job wants these ranks any more.
  }
}

/// The one way by which ranks are stopped. The mark is durable before the first
/// TERM, and a rank that ended before it keeps its own exit status. Without the mark no rank may be
/// asked to end: an exit 0 on our TERM would count.
void Supervisor::terminate(Duration grace, const std::string& reason) {
  if (phase_ == Phase::kPrepared) {
    _exit(0);
  }
  if (phase_ == Phase::kStopping) {
    timer_.kill_by(boot_now() + grace);
    return;
  }
  reap();
  const Status marked = evidence_.mark_signalled(reason);
  if (!marked) {
    log_failure(marked.error().text);
  }
  phase_ = Phase::kStopping;
  for (SupervisedRank& rank : ranks_) {
    if (!rank.has_ended()) {
      rank.mark_signalled();
      if (!marked) {
        rank.mark_lost(marked.error().text);
      }
    }
  }
  if (marked) {
    processes_.ask_to_end();
  }
  timer_.kill_at(boot_now() + (marked ? grace : Duration(0)));
  tell();
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
    if (!rank->result().is_success()) {
      rank->explain(watch_.why_ended(boot_now()));
    }
    evidence_.add(rank->result());
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
      evidence_.add(rank.result());
    }
  }
}

void Supervisor::on_progress() {
  if (phase_ == Phase::kPrepared) {
    return;
  }
  const bool is_launched = std::none_of(ranks_.begin(), ranks_.end(),
                                        [](const auto& rank) { return rank.exec_pipe() >= 0; });
  const bool has_news = evidence_.has_news() || std::exchange(has_news_, false);
  if (phase_ == Phase::kLaunching && is_launched) {
    phase_ = Phase::kRunning;
    watch_.begin(boot_now());
    tell();
  } else if (has_news) {
    tell();
  }
  if (evidence_.results().size() < ranks_.size()) {
    return;
  }
  reap();
  if (is_empty_) {
    finish();
  }
  if (phase_ == Phase::kStopping) {
    return;  // Processes beside the ranks have the same grace; then the timer kills them.
  }
  processes_.kill();  // The remains of ranks that ended by themselves end with the grant.
  timer_.kill_at(space_.has_namespace ? kNever : boot_now() + kKillRound);
}

void Supervisor::finish() {
  copy_output();
  std::vector<RankResult> ordered;
  for (SupervisedRank& rank : ranks_) {
    rank.finish_output();
    ordered.push_back(rank.result());
  }
  if (!is_good(evidence_.complete(std::move(ordered)))) {
    _exit(1);
  }
  phase_ = Phase::kEnded;
  tell();
  _exit(0);
}

void Supervisor::tell() {
  std::vector<DroppedOutput> dropped;
  for (SupervisedRank& rank : ranks_) {
    rank.measure_output();
    if (rank.has_dropped()) {
      dropped.push_back(
          {rank.result().rank, rank.result().lost_bytes, rank.result().surplus_bytes});
    }
  }
  agent_.tell({phase_, space_.has_namespace, static_cast<std::uint32_t>(ranks_.size()),
               master_.endpoint(), timer_.hold_until(), evidence_.results(), space_.has_own_proc,
               std::move(dropped), person_.refusal});
}

}  // namespace muster::agent
