#pragma once
// GrantHooks runs the programs of a site before and behind each grant: those in prolog/ before its
// supervisor starts, therefore before Ready; those in epilog/ once all of its ranks are gone. It
// stands between the Node and RankSupervisors: it keeps a Prepare until the prologs agreed, and a
// CleanLook until the epilogs ended. Owned by EventLoop, whose thread makes all calls; none waits.
//
// - A prolog that fails refuses the grant: the attempt ends, and the job leaves this host out.
// - Each grant that was prepared, or whose prolog was begun, has one epilog, also if no rank ran.
// One
//   that still waited has none.
//   An agent that starts again runs the epilogs that an earlier one owes; one that was cut off runs
//   again. A prolog that was cut off does not: GangAgent aborts its grant.
// - The results of a job do not wait for an epilog. Its GPUs do, and its next attempt here: no
//   prolog, no rank and no look at them begins before. An epilog that fails takes the GPUs out of
//   use, and refuses the grants that waited for them.
// - Where the folders are empty nothing is kept.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/edge/gpu/hooks.h"
#include "agent/edge/run/epilog_notes.h"
#include "agent/gang/gang_interface.h"
#include "agent/health/host_gpus.h"
#include "gossip/base/event.h"
#include "gossip/base/time.h"

namespace muster::agent {

class GrantHooks {
 public:
  /// Prologs that run at once, and as many epilogs; others wait. Both together: below
  /// Hooks::kRunsMax.
  static constexpr std::size_t kAtOnceMax = 16;
  /// A GPU that waits for an epilog is told again after this: it shall not count as leaked.
  static constexpr Duration kTellAgain = std::chrono::seconds(20);

  /// `hooks`: the directory of Hooks. `notes`: that of EpilogNotes.
  GrantHooks(std::string hooks, std::string notes);

  /// Hears each command before it is carried out. True if it has to wait: take_commands() gives it
  /// back once it may be carried out.
  bool keeps(Instant now, const SupervisorCommand& command);
  /// Hears each report of the supervisors before the Node does.
  void hear(Instant now, const GangAgentInput& report);
  /// True if the command has to wait: the GPU is told in take_facts() when it may be looked at.
  bool keeps(Instant now, const gpus::Command& command);

  /// Changes with every call of this class; poll for POLLIN.
  std::vector<int> fds() const { return hooks_.fds(); }
  void on_readable(Instant now, int fd);
  void on_time(Instant now);
  /// At once while there is something to take.
  Instant next_deadline() const;

  std::vector<Prepare> take_commands();
  std::vector<LaunchFailed> take_reports();
  std::vector<gpus::Input> take_facts();
  std::vector<Event> take_events();

 private:
  enum class Phase : std::uint8_t {
    kFound,        ///< Of an earlier life of the agent; its supervisor was not heard of yet.
    kWaits,        ///< For its prolog.
    kProlog,       ///< Runs.
    kHeld,         ///< Prepared, or refused: it ends some time.
    kEpilogWaits,  ///< For its epilog.
    kEpilog,       ///< Runs.
  };
  struct Run {
    Phase phase = Phase::kFound;
    GrantNote note;
    std::optional<Prepare> prepare;      ///< Until its prolog agreed.
    std::set<std::string> kept_looks{};  ///< GPUs with a CleanLook that waits.
    Instant tell_at = kNever;            ///< Of those.
  };

  void prepare(Instant now, const Prepare& command);
  void end(Instant now, Token token);
  void advance(Instant now);
  void begin(Instant now);
  /// False if there was no result.
  bool hear_results();
  void prolog_ended(Token token, Run& run, std::string failure);
  void epilog_ended(Token token, Run& run, const std::string& failure);
  void refuse_waiting(const std::vector<std::string>& gpus, const std::string& why);
  void forget(std::map<Token, Run>::iterator run);
  std::size_t running(Phase phase) const;
  bool waits_for_earlier(Token token, const Run& run) const;
  void tell(Token token, const Run& run, bool is_over);
  void start(Instant now, HookKind kind, Token token, const Run& run);

  Hooks hooks_;
  EpilogNotes notes_;
  std::map<Token, Run> runs_;
  std::vector<Prepare> commands_;
  std::vector<LaunchFailed> reports_;
  std::vector<gpus::Input> facts_;
  std::vector<Event> events_;
};

}  // namespace muster::agent
