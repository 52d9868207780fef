#pragma once
// One rank as its supervisor sees it: started by fork and exec, observed through a close-on-exec
// pipe (did exec work?) and wait (how did it end?).

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "agent/edge/grant/rank_user.h"
#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/ranks/rank_identity.h"
#include "agent/edge/ranks/rank_output.h"
#include "agent/isolation/cpu_list.h"

namespace muster::agent {

/// Processors as sched_setaffinity() takes them, a bit each. Empty = those of the supervisor.
using ProcessorMask = std::vector<unsigned long>;
inline const ProcessorMask kEverywhere;
ProcessorMask mask_of(const CpuList& cpus);

/// The way in which the child of a supervisor becomes a rank.
struct RankBirth {
  const std::optional<RankIdentity>& identity;  ///< nullopt: it stays the supervisor's user.
  bool dies_with_parent = false;                ///< Where no PID namespace does it.
  const DropCalls& calls = kernel_calls();      ///< By which it becomes `identity`.
  int group = -1;                               ///< RoomMaker::group_of_ranks()
  const ProcessorMask& processors = kEverywhere;
};

class SupervisedRank {
 public:
  /// Forks. The child leads a session and process group of its own, reads /dev/null and writes to
  /// pipes that copy_output() empties into rank-N.log in the present directory. A child that cannot
  /// become its identity in every respect ends as not started, for the host's sake. It goes to the
  /// job's directory as that user: a file server may show it to nobody else, root included.
  void start(const RankPlan& plan, const LaunchOrder& order, const RankBirth& birth);

  /// Readable once exec is decided; -1 when it is, or before start().
  int exec_pipe() const { return exec_pipe_.get(); }
  /// Call when exec_pipe() is readable: learns whether exec worked.
  void on_exec_decided();
  /// `status`: as waitpid() gave it.
  void on_exit(int status);
  /// Why it ended, for people, unless that is known better; `why` may be empty.
  void explain(const std::string& why);
  /// To be called before TERM is sent: its exit status proves nothing any more.
  void mark_signalled() { result_.signalled_by_us = true; }
  /// Beside mark_signalled(): however it ends now, its end is told as lost.
  void mark_lost(const std::string& why);
  /// Whenever one of output_pipes() is readable, or just so. -1: every writer of it is gone.
  std::array<int, 2> output_pipes() const { return output_.read_ends(); }
  void copy_output() { output_.copy(); }
  /// Once nothing of the grant is left: what ran on after the rank's end wrote to its log too.
  void finish_output();
  /// Whether output of it is not kept, so far.
  bool has_dropped() const { return output_.lost_bytes() + output_.surplus_bytes() > 0; }

  pid_t pid() const { return pid_; }
  bool has_ended() const { return has_ended_; }
  /// With the count of output as it was when that was looked at last.
  const scheduler::RankResult& result() const { return result_; }
  void measure_output();

 private:
  void end(scheduler::RankResult::Kind kind, int code, const std::string& detail);

  pid_t pid_ = 0;
  Fd exec_pipe_;
  std::string log_;
  std::string directory_;
  RankOutput output_;
  std::optional<std::string> lost_because_;
  bool has_ended_ = false;
  scheduler::RankResult result_;
};

}  // namespace muster::agent
