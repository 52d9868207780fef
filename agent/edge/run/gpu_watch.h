#pragma once
// GpuWatch is the edge of HostGpus: it makes facts of what the prober and the kernel's log tell,
// and obeys the commands of HostGpus, by looks of the prober, by signals, by hooks of the site, and
// by what the kernel says of processes and control groups. Owned by HostHardware; all calls belong
// to the thread of the event loop, and none waits.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/edge/gpu/gpu_prober.h"
#include "agent/edge/gpu/hooks.h"
#include "agent/edge/host/kernel_log.h"
#include "agent/edge/run/run_agent.h"
#include "agent/health/host_gpus.h"
#include "gossip/base/event.h"
#include "gossip/base/time.h"

namespace muster::agent {

class GpuWatch {
 public:
  /// Facts that wait to be taken; above, the oldest goes.
  static constexpr std::size_t kFactsMax = 8192;

  /// `group_root`: RoomHost::group_root.
  GpuWatch(std::string group_root, HardwareSettings settings);

  /// Reads the kernel's log from the first call on. `is_from_now`: see KernelLog::open(). Says so
  /// if it cannot be read.
  void open_kernel_log(bool is_from_now);
  /// Changes with every call of this class; poll for POLLIN.
  std::vector<int> fds() const;
  bool owns(int fd) const;
  void on_readable(Instant now, int fd);
  void on_time(Instant now);
  Instant next_deadline() const { return hooks_.next_deadline(); }

  void obey(Instant now, const gpus::Command& command, GpuProber& prober);
  void hear(const XidEvent& xid);
  /// The view of the prober has changed.
  void see(Instant now, const ProbeView& view, GpuProber& prober);

  std::vector<gpus::Input> take_facts();
  std::vector<Event> take_events();

 private:
  struct Look {
    Instant asked_at{};
    Token token;
  };

  void obey(Instant now, const gpus::CleanLook& look, GpuProber& prober);
  void obey(Instant now, const gpus::KillHolder& kill, GpuProber& prober);
  void obey(Instant now, const gpus::LookSoon& look, GpuProber& prober);
  void obey(Instant now, const gpus::ResetGpu& reset, GpuProber& prober);
  void obey(Instant now, const gpus::CheckGpu& check, GpuProber& prober);
  void read_kernel_log();
  void hear_hooks();
  clean::Seen seen(const GpuReading& gpu, Instant began, Token token);
  clean::Holder holder(std::uint32_t pid, Token token);
  std::string user_of(std::uint32_t pid);
  bool is_of_grant(std::uint32_t pid, Token token) const;
  void add(gpus::Input fact);

  std::string group_root_;
  std::string group_path_;       ///< As /proc/PID/cgroup names it; "" = there is no.
  std::string kernel_log_path_;  ///< "" once it was opened.
  std::unique_ptr<KernelLog> kernel_log_;
  Hooks hooks_;
  std::map<std::string, Look> looks_;           ///< By uuid: CleanLooks without an answer.
  std::map<std::string, Instant> checks_;       ///< By uuid, since when.
  std::map<std::uint32_t, std::string> users_;  ///< By uid: /etc/passwd, during one view.
  std::vector<gpus::Input> facts_;
  std::vector<Event> events_;
};

}  // namespace muster::agent
