#pragma once
// The whole life of a supervisor, in its own process, in the directory of its grant (supervise.h
// lists its files). It owns the ranks of one grant: launches them when it is told, ends them when
// it is told or when the hold is over, and leaves their results behind.
//
// A stop asks every process of the grant to end, not only the ranks, and is over when none is left
// or the grace passed. When the last rank ends by itself, what ranks left behind is killed at once;
// until then it lives on, for its siblings may need it.
//
// PREPARED -> LAUNCHING -> RUNNING -> STOPPING -> ENDED; from LAUNCHING and RUNNING also to ENDED.
// `spec` is durable before the first exec, `signalled` before the first TERM, `evidence` before the
// last word; the disk space of all three is taken before the first exec. It leaves by _exit only.

#include <poll.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "agent/edge/grant/rank_user.h"
#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/ranks/agent_line.h"
#include "agent/edge/ranks/exit_evidence.h"
#include "agent/edge/ranks/grant_processes.h"
#include "agent/edge/ranks/grant_watch.h"
#include "agent/edge/ranks/hold_timer.h"
#include "agent/edge/ranks/master_port.h"
#include "agent/edge/ranks/supervise_rank.h"

namespace muster::agent {

/// The spaces that this process could have of its own.
struct SupervisorSpace {
  bool has_namespace = false;  ///< It is PID 1 of a PID namespace.
  bool has_own_proc = false;   ///< /proc here is that of this namespace.
  int group_of_ranks = -1;     ///< RoomMaker::group_of_ranks()
  RoomLimits limits{};         ///< Of its room.
};

/// The user that ranks become. Without an identity and a refusal they run as this process does.
struct RankPerson {
  std::optional<RankIdentity> identity{};
  std::string refusal{};  ///< SupervisorStatus::refusal
};

class Supervisor {
 public:
  Supervisor(int agent_socket, Duration hold, SupervisorSpace space, RankPerson person);
  /// `listen_address`: where MASTER_PORT is held, "-" when rank 0 is elsewhere. False: it said why.
  bool open(const std::string& listen_address);
  [[noreturn]] void run();

 private:
  void obey(const LaunchOrder& order);
  void obey(const TerminateOrder& order) { terminate(order.grace, order.reason); }
  void obey(const HoldOrder& order) { timer_.prolong(order.hold_until); }
  void obey(const DismissOrder&);
  void obey(const SupervisorStatus&) {}
  void terminate(Duration grace, const std::string& reason);
  void reap();
  void on_exec_pipes(const std::vector<pollfd>& polled);
  void copy_output();
  void on_time();
  void on_progress();
  void finish();
  std::vector<pollfd> poll_set() const;
  /// The hold ends what was launched, unless its job is to be left alone.
  bool is_watching_hold() const;
  void tell();

  const SupervisorSpace space_;
  const RankPerson person_;
  const GrantProcesses processes_;
  SupervisorStatus::Phase phase_ = SupervisorStatus::Phase::kPrepared;
  bool is_keep_ = false;
  bool is_empty_ = false;  ///< No child is left.
  bool has_news_ = false;  ///< A rank began to drop output, which is not told yet.
  Duration grace_{0};
  MasterPort master_;
  Fd signals_;
  HoldTimer timer_;
  GrantWatch watch_;
  AgentLine agent_;
  std::list<SupervisedRank> ranks_;
  ExitEvidence evidence_;
};

}  // namespace muster::agent
