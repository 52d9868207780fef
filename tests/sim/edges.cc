#include "tests/sim/edges.h"

#include <algorithm>
#include <functional>
#include <set>

#include "tests/sim/stage.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::Edge;

/// Longer than the leader waits before it proposes again, shorter than the deadline of RESERVED.
constexpr Duration kHiccup = 9s;
/// Where no deadline is in the way.
constexpr Duration kLongHiccup = 14s;
/// Outlives the way to a Condemn: who is pardoned must still run.
constexpr Duration kPardonHold = 90s;

class Acts : private Stage {
 public:
  explicit Acts(std::uint64_t seed) : Stage(seed) {}

  SwarmResult run() {
    play("decide_waits_for_disks", [this] { return decide_waits_for_disks(); });
    play("ready_waits_for_disks", [this] { return ready_waits_for_disks(); });
    play("start_waits_for_disks", [this] { return start_waits_for_disks(); });
    play("stop_waits_for_disks", [this] { return stop_waits_for_disks(); });
    play("finish_waits_for_disks", [this] { return finish_waits_for_disks(); });
    play("pardon_waits_for_disks", [this] { return pardon_waits_for_disks(); });
    play("expire_waits_for_disks", [this] { return expire_waits_for_disks(); });
    play("cancel_while_reserved", [this] { return cancel_while_reserved(); });
    play("refuse_while_reserved", [this] { return refuse_while_reserved(); });
    play("refuse_behind_start", [this] { return refuse_behind_start(); });
    play("finish_before_condemn", [this] { return finish_before_condemn(); });
    play("death_while_stopping", [this] { return death_of_the_last_while_stopping(); });
    play("condemned_while_reserved", [this] { return condemned_while_reserved(); });
    play("restart_while_reserved", [this] { return restart_while_reserved(); });
    play("cancel_before_decide", [this] { return cancel_before_decide(); });
    for (int i = 0; i < 4; ++i) {
      play("finish_of_an_earlier_start", [this] { return finish_of_an_earlier_start(); });
    }
    play("suspend_while_reserved", [this] { return order_while_reserved(agent::Verb::kSuspend); });
    play("requeue_while_reserved", [this] { return order_while_reserved(agent::Verb::kRequeue); });
    play("suspend_while_running", [this] { return suspend_while_running(); });
    play("requeue_while_running", [this] { return requeue_while_running(); });
    play("end_before_the_stop_comes", [this] { return end_before_the_stop_comes(); });
    play("fence_of_a_kept_grant", [this] { return fence_of_a_kept_grant(); });
    play("fence_while_reserved", [this] { return fence_while_reserved(); });
    until([this] { return is_at_rest(); }, 5min);
    world_.run_for(20s);
    world_.finish();
    return result();
  }

 private:
  bool decide_waits_for_disks() {
    slow_voters();
    submit(8, 5s);
    if (!until([this] { return !world_.disk(leader()).idle(); }, 1s)) {
      return false;
    }
    hiccup(kHiccup);
    return true;
  }

  bool ready_waits_for_disks() {
    submit(8, 5s);
    if (!until([this] { return is(JobState::kScheduled); }, 5s)) {
      return false;
    }
    hiccup(kHiccup, member());
    return true;
  }

  bool cancel_while_reserved() {
    submit(8, 5s);
    if (!until([this] { return is(JobState::kScheduled); }, 5s)) {
      return false;
    }
    set_fsync(member(), 3s);
    cancel();
    world_.run_for(3s);
    return true;
  }

  bool order_while_reserved(agent::Verb verb) {
    submit(8, 5s);
    if (!until([this] { return is(JobState::kScheduled); }, 5s)) {
      return false;
    }
    set_fsync(member(), 3s);
    order(verb);
    world_.run_for(3s);
    order(agent::Verb::kResume);
    return true;
  }

  bool suspend_while_running() {
    submit(8, 10s);
    if (!until([this] { return is(JobState::kRunning); }, 20s)) {
      return false;
    }
    order(agent::Verb::kSuspend);
    const bool suspended = until([this] { return is(JobState::kSuspended); }, 20s);
    order(agent::Verb::kResume);
    return suspended && until([this] { return is(JobState::kRunning); }, 20s);
  }

  bool requeue_while_running() {
    submit(8, 10s);
    if (!until([this] { return is(JobState::kRunning); }, 20s)) {
      return false;
    }
    order(agent::Verb::kRequeue);
    return until([this] { return is(JobState::kQueued); }, 20s) &&
           until([this] { return is(JobState::kRunning); }, 20s);
  }

  /// The ranks of a host that is cut off end well while the Stop cannot reach it.
  bool end_before_the_stop_comes() {
    submit(8, 4s);
    if (!until([this] { return is(JobState::kRunning); }, 5s) || member() == leader()) {
      return false;
    }
    isolate(member());
    cancel();
    const bool stops = until([this] { return is(JobState::kStopping); }, 2s);
    world_.run_for(5s);
    world_.network().heal_all();
    return stops && until([this] { return !is(JobState::kStopping); }, 20s);
  }

  /// A host that is off for good, under a job that silence never ends.
  bool fence_of_a_kept_grant() {
    submit(8, 30s, kHold, {}, true);
    if (!until([this] { return is(JobState::kRunning); }, 5s) || member() == leader()) {
      return false;
    }
    const std::uint32_t host = member();
    world_.power_off(host);
    if (!until([this, host] { return is_silent(host); }, 20s)) {
      return false;
    }
    fence(host);
    return until([this] { return is(JobState::kQueued) || newest()->life.attempts > 1; }, 10s);
  }

  /// ... and under one whose host died before it was ready.
  bool fence_while_reserved() {
    const std::uint32_t host = kHosts - 1;
    set_fsync(host, 20s);
    submit(kHosts * 8, 5s);  // It fits nowhere without that host.
    if (!until([this] { return is(JobState::kScheduled); }, 5s)) {
      return false;
    }
    isolate(host);
    if (!until([this, host] { return is_silent(host); }, 8s) || !is(JobState::kScheduled)) {
      return false;
    }
    fence(host);
    world_.run_for(1s);
    return true;
  }

  /// The supervisor dies between Ready and Start.
  bool refuse_while_reserved() {
    if (!ready_waits_for_disks() || !is(JobState::kScheduled)) {
      return false;
    }
    world_.run_for(500ms);
    world_.kill_supervisor(member());
    world_.run_for(kHiccup);
    return true;
  }

  bool start_waits_for_disks() {
    slow_voters();
    submit(8, 5s);
    if (!until([this] { return is(JobState::kScheduled); }, 5s) ||
        !until([this] { return !world_.disk(leader()).idle(); }, 1s)) {
      return false;
    }
    hiccup(kHiccup, member());
    return true;
  }

  /// Every word comes once more, up to 8 s later. While the Start is on its way to the disks the
  /// supervisor dies, and the agent refuses the Assign that it hears again: the Abort comes late.
  bool refuse_behind_start() {
    world_.network().faults.duplicate = 1'000'000;
    world_.network().faults.late_max = 8s;
    if (!start_waits_for_disks() || !is(JobState::kScheduled)) {
      return false;
    }
    world_.kill_supervisor(member());
    world_.run_for(kHiccup);
    return true;
  }

  bool stop_waits_for_disks() {
    submit(8, 60s);
    if (!until([this] { return is(JobState::kRunning); }, 5s)) {
      return false;
    }
    slow_voters();
    world_.run_for(3s);
    if (!until([this] { return world_.disk(leader()).idle(); }, 1s)) {
      return false;
    }
    cancel();
    if (!until([this] { return !world_.disk(leader()).idle(); }, 1s)) {
      return false;
    }
    hiccup(kHiccup, member());
    return true;
  }

  bool finish_waits_for_disks() {
    submit(8, 5s);
    if (!until([this] { return is(JobState::kRunning); }, 5s)) {
      return false;
    }
    world_.run_for(3500ms);
    hiccup(kLongHiccup, member());
    world_.run_for(kLongHiccup);
    return true;
  }

  /// The host of a running job, cut off until it is condemned.
  bool condemn(Duration hold) {
    submit(8, 120s, hold);
    if (!until([this] { return is(JobState::kRunning); }, 5s)) {
      return false;
    }
    isolate(member());
    return until(
        [this] {
          return attempt() != nullptr && attempt()->members.front().condemned != LogIndex();
        },
        60s);
  }

  bool pardon_waits_for_disks() {
    if (!condemn(kPardonHold)) {
      return false;
    }
    world_.network().heal_all();
    hiccup(kLongHiccup, member());
    world_.run_for(kLongHiccup);
    cancel();
    return true;
  }

  bool expire_waits_for_disks() {
    if (!condemn(kHold)) {
      return false;
    }
    // hold + grace + 5 s of margin, and the drift that is allowed for.
    world_.run_for(24500ms);
    hiccup(kLongHiccup, member());
    world_.run_for(2500ms);
    world_.network().heal_all();  // Its last words find the Expire on its way.
    world_.run_for(kLongHiccup);
    return true;
  }

  /// A host that was cut off is back and reports that its ranks failed, while the log still calls
  /// it silent: the Condemn comes too late.
  bool finish_before_condemn() {
    submit(8, 4s, kHold, {"fail_rank=0"});
    if (!until([this] { return is(JobState::kRunning); }, 5s)) {
      return false;
    }
    const std::uint32_t host = member();
    isolate(host);
    world_.run_for(5s);
    hiccup(2 * kLongHiccup, host);
    world_.network().heal_all();
    world_.run_for(2 * kLongHiccup);
    return true;
  }

  /// The agent dies before it wrote down that it had started its share: its next start knows of
  /// nothing that could run.
  bool death_of_the_last_while_stopping() {
    submit(8, 60s);
    if (!until([this] { return attempt() != nullptr && attempt()->members.front().ready; }, 5s)) {
      return false;
    }
    const std::uint32_t host = member();
    if (host == leader()) {
      return false;
    }
    set_fsync(host, 20s);
    if (!until([this] { return is(JobState::kRunning); }, 5s)) {
      return false;
    }
    cancel();
    if (!until([this] { return is(JobState::kStopping); }, 5s)) {
      return false;
    }
    world_.kill_agent(host);
    set_fsync(host, 1ms);
    world_.start_agent(host);
    return true;
  }

  /// A host goes silent between the submit of a job of all GPUs and its slow Decide.
  bool condemned_while_reserved() {
    for (std::uint32_t voter = 0; voter < kVoters; ++voter) {
      set_fsync(voter, 2s);
    }
    submit(kHosts * 8, 1s);
    world_.run_for(1500ms);
    for (std::uint32_t voter = 0; voter < kVoters; ++voter) {
      set_fsync(voter, 6s);
    }
    isolate(kHosts - 1);
    if (!until([this] { return newest() != nullptr; }, 10s)) {
      return false;
    }
    world_.run_for(10ms);
    for (std::uint32_t voter = 0; voter < kVoters; ++voter) {
      set_fsync(voter, 1ms);
    }
    if (!until([this] { return is(JobState::kScheduled); }, 20s)) {
      return false;
    }
    world_.run_for(20s);
    return true;
  }

  void restart(std::uint32_t host) {
    world_.kill_agent(host);
    set_fsync(host, 1ms);
    world_.start_agent(host);
  }

  /// A host with a slow disk restarts under a gang that fits nowhere without it.
  bool restart_while_reserved() {
    const std::uint32_t host = kHosts - 1;
    set_fsync(host, 3s);
    submit(kHosts * 8, 1s);
    if (!until([this] { return is(JobState::kScheduled); }, 5s)) {
      return false;
    }
    world_.run_for(100ms);
    restart(host);
    world_.run_for(3s);
    return true;
  }

  /// A job waits for another's GPUs and is cancelled behind the Finish that frees them: the Decide
  /// that the Finish calls for comes behind the Cancel.
  bool cancel_before_decide() {
    submit(8, 3s);
    if (!until([this] { return is(JobState::kRunning); }, 5s)) {
      return false;
    }
    submit(kHosts * 8, 1s);
    if (!until([this] { return is(JobState::kQueued); }, 2s)) {
      return false;
    }
    world_.run_for(2s);
    for (std::uint32_t voter = 0; voter < kVoters; ++voter) {
      set_fsync(voter, 2s);
    }
    if (!until([this] { return !world_.disk(leader()).idle(); }, 4s)) {
      return false;
    }
    world_.run_for(200ms);
    cancel();
    world_.run_for(8s);
    return true;
  }

  /// An agent ends its last words with a restart: the hello overtakes the Finish.
  bool finish_of_an_earlier_start() {
    submit(8, 4s);
    if (!until([this] { return is(JobState::kRunning); }, 5s)) {
      return false;
    }
    const std::uint32_t host = member();
    if (host == leader()) {
      return false;
    }
    world_.run_for(2500ms);
    hiccup(kHiccup, host);
    world_.network().faults.late = 500'000;
    world_.network().faults.late_max = 800ms;
    bool told = false;
    world_.network().tap = [&](std::uint32_t from, std::uint32_t, const std::string& bytes) {
      const Result<gossip::Message> message = gossip::decode(bytes);
      if (told || from != host || !message.has_value() ||
          message->envelope().type != gossip::MessageType::kFinish) {
        return;
      }
      told = true;
      world_.at(world_.now() + 1ms, [this, host] {
        world_.kill_agent(host);
        world_.start_agent(host);
      });
    };
    world_.run_for(kHiccup);
    world_.network().tap = nullptr;
    return told;
  }
};

bool is_exempt(Edge edge) {
  const auto& exempt = exempt_edges();
  return std::any_of(exempt.begin(), exempt.end(),
                     [edge](const ExemptEdge& each) { return each.edge == edge; });
}

}  // namespace

const std::vector<ExemptEdge>& exempt_edges() {
  static const std::vector<ExemptEdge> kExempt = {
      {Edge::kStopPreempted, "no leader preempts a job yet"},
      {Edge::kAbortedPreempted, "no leader preempts a job yet"},
      {Edge::kCondemnKept, "a leader names no token of an attempt that is kept"},
      {Edge::kStartTooEarly, "a leader says Start only after it applied every Ready"},
      {Edge::kStopEarly, "a leader says Stop only after it applied the Start"},
      {Edge::kFinishEarly, "a leader passes a Finish on only after it applied the Start"},
      {Edge::kReadyLate,
       "a leader says Start after it applied every Ready, and passes on none after"},
      {Edge::kReadyOtherPair, "a Register that changes the pair ends what is RESERVED"},
  };
  return kExempt;
}

std::vector<std::string> judge_edges(const scheduler::EdgeCounts& edges) {
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < scheduler::kEdgeCount; ++i) {
    const auto edge = static_cast<Edge>(i);
    const std::string name(text_of(edge));
    if (edges[edge] == 0 && !is_exempt(edge)) {
      wrong.push_back("edge never reached: " + name);
    } else if (edges[edge] != 0 && is_exempt(edge)) {
      wrong.push_back("edge is exempted and was reached: " + name);
    }
  }
  return wrong;
}

SwarmResult run_edge_acts(std::uint64_t seed) {
  return Acts(seed).run();
}

}  // namespace muster::sim
