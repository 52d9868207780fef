#pragma once
// GpuProber is the agent's handle on its probers: it obeys a ProbePlan, and hands out what the plan
// sees and the Xids that the library told. It never blocks, not on a prober and not on the driver.
// Owned by EventLoop: poll() the descriptors of fds() for POLLIN and call on_readable(), and
// on_time() at next_deadline().

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/hardware/probe_frame.h"
#include "agent/hardware/probe_plan.h"
#include "gossip/base/event.h"

namespace muster::agent {

struct GpuProberOptions {
  std::string library;                        ///< Its path; "" = the one that the loader finds.
  std::string executable = "/proc/self/exe";  ///< Run as `EXECUTABLE probe ...`.
  /// Where the kernel lists the devices of the PCI bus.
  std::string pci_directory = "/sys/bus/pci/devices";
  ProbePlanOptions plan{};
};

class GpuProber {
 public:
  /// Xids that wait to be taken; above, the oldest goes.
  static constexpr std::size_t kXidsMax = 4096;

  explicit GpuProber(GpuProberOptions options);
  /// Kills all probers and waits for none.
  ~GpuProber();
  GpuProber(const GpuProber&) = delete;
  GpuProber& operator=(const GpuProber&) = delete;

  /// Starts the first prober.
  void start(Instant now);

  /// Changes with every call of this class; poll for POLLIN.
  std::vector<int> fds() const;
  void on_readable(Instant now, int fd);
  void on_time(Instant now);
  Instant next_deadline() const { return plan_.next_deadline(); }

  /// The view, if it may have changed since the last call.
  std::optional<ProbeView> take_view();
  ProbeView view() const { return plan_.view(); }
  std::vector<XidEvent> take_xids();
  std::vector<Event> take_events();
  /// Looks come faster until then.
  void hurry(Instant until) { plan_.hurry(until); }

 private:
  struct Prober {
    ProberKind kind{};
    Fd socket;
    Fd pidfd;
    int pid = 0;
    std::string buffer;
  };

  void obey(Instant now);
  void obey(Instant now, const StartProber& order);
  void obey(Instant now, const AskProber& order);
  void obey(Instant now, const KillProber& order);
  void read(Instant now, std::uint64_t id, Prober& prober);
  void hear(Instant now, std::uint64_t id, ProbeFrame& frame);
  void on_gone(Instant now, std::uint64_t id);
  void drain_plan();

  GpuProberOptions options_;
  ProbePlan plan_;
  std::map<std::uint64_t, Prober> probers_;
  bool has_changed_ = false;
  std::vector<XidEvent> xids_;
  std::vector<ProbeOrder> orders_;
  std::vector<Event> events_;
};

}  // namespace muster::agent
