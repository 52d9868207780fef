#pragma once
// The agent's handle on all its supervisors: carries out the commands of the GangAgent and turns
// the reports of supervisors into its inputs. Owned by EventLoop. Never blocks on a supervisor:
// poll() the descriptors of fds() for POLLIN and call on_readable().
//
// A dead supervisor is reported only when its pidfd says so: by then the kernel has ended every
// process of its namespace.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/edge/grant/rank_user.h"
#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/supervisor/grant_rooms.h"
#include "agent/edge/supervisor/handle_life.h"
#include "agent/edge/supervisor/kept_grants.h"
#include "agent/edge/supervisor/launch_check.h"
#include "agent/gang/gang_interface.h"
#include "agent/isolation/room_plan.h"
#include "gossip/base/event.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// A supervisor found at start that said nothing for this long is reported as silent. Above the
/// time in which a living one turns from the agent before (2 s); higher: one that hangs keeps the
/// whole host from registering for that long.
inline constexpr Duration kSupervisorPatience = std::chrono::seconds(5);

struct RankSupervisorsOptions {
  std::string data_directory;  ///< Absolute. Grants live in its "grants/".
  /// Where MASTER_PORT is held: this host's address as other hosts reach it. The port is ignored.
  gossip::Endpoint address;
  std::string executable = "/proc/self/exe";  ///< Run as `EXECUTABLE supervise ...`.
  KeptLimits kept{};
  DiskReserve reserve{};
  /// As probed at the start: one that does not get one later is short of something.
  bool expects_namespaces = false;
  Duration trial_pause = kTrialPause;
  RankUserRule users{};  ///< The jobs that are taken. The default takes no job.
  RoomHost room{};       ///< For the rooms of ranks. The default limits them alone.
  std::string unfit{};   ///< Why this host starts nothing, whatever it has; "" = it may start some.
};

class RankSupervisors {
 public:
  explicit RankSupervisors(RankSupervisorsOptions options);
  ~RankSupervisors();
  RankSupervisors(const RankSupervisors&) = delete;
  RankSupervisors& operator=(const RankSupervisors&) = delete;

  /// Makes DATA/grants, connects to every supervisor that lives and reads the evidence of every one
  /// that does not. The inputs end with SupervisorsScanned once all are known: at once, except when
  /// a supervisor is dying or says nothing; then when take_inputs() yields it, at most
  /// kSupervisorPatience later. If a silent one answers after that, its answer is still reported.
  Status adopt();

  /// `hosts` = names or addresses of the attempt's hosts in member order (MUSTER_HOSTS); used by
  /// Launch only.
  void carry_out(const SupervisorCommand& command, const std::vector<std::string>& hosts = {});

  /// The rooms of later grants are made from this.
  void hold_to(const RoomHost& room) { rooms_.hold_to(room); }

  /// Output of what ended is kept by this rule from now on.
  void keep(const OutputRule& rule) { kept_.keep(rule); }

  /// Changes with every call of this class; poll for POLLIN.
  std::vector<int> fds() const;
  void on_readable(int fd);
  /// Drains. To be called every second or more often: here patience ends and lost connections are
  /// made again.
  std::vector<GangAgentInput> take_inputs();
  std::vector<Event> take_events();

  /// DATA/grants/<token>: where rank-N.log lies.
  std::string directory_of(Token token) const;
  /// Why the output of `token` is not there; "" if that is not remembered.
  std::string why_no_output(Token token) const;
  /// The supervisor's process as this process sees it; nullopt if none is known.
  std::optional<int> pid_of(Token token) const;

 private:
  struct Handle {
    Token token;
    Fd socket;
    Fd pidfd;
    int pid = 0;
    std::string buffer;
    HandlePhase phase = HandlePhase::kSpawned;
    std::optional<SupervisorStatus> status;  ///< The last one, once it has answered.
    Instant answer_by = kNever;              ///< While its answer is due.
    Instant connect_at = kNever;             ///< The next try, while there is no connection.
  };

  void carry(const Prepare& command);
  void carry(const Launch& command, const std::vector<std::string>& hosts);
  void carry(const Terminate& command);
  void carry(const RenewHold& command);
  void carry(const Forget& command);

  Status spawn(const Prepare& command, const RankUser& user, Handle& handle);
  void adopt_one(Token token);
  bool connect_to(Handle& handle) const;
  bool open_pidfd(Handle& handle) const;
  void send(Handle& handle, const SupervisorFrame& frame);
  void read(Handle& handle);
  void on_status(Handle& handle, SupervisorStatus status);
  void on_first_status(Handle& handle, const SupervisorStatus& status);
  void on_closed(Handle& handle);
  void on_time(Instant now);
  void reconnect(Instant now, Handle& handle);
  void on_dead(Handle& handle);
  void tell_scanned();
  void clean(Token token);
  void look_at_host(Instant now);
  void fail_launch(Token token, const std::string& why);
  std::optional<std::vector<scheduler::RankResult>> evidence_of(Token token) const;
  void reap_children();
  Handle* handle_of(Token token);
  void emit(Severity severity, std::string_view name, Token token, const std::string& detail);

  RankSupervisorsOptions options_;
  std::map<Token, Handle> handles_;
  std::vector<int> unreaped_;  ///< Short-lived children.
  bool scan_running_ = false;
  std::set<std::string_view> told_;  ///< Events that are told once.
  LaunchCheck check_;
  KeptGrants kept_;
  GrantRooms rooms_;
  std::vector<GangAgentInput> inputs_;
  std::vector<Event> events_;
};

}  // namespace muster::agent
