#pragma once
// HostGpus knows the GPUs of this host beyond the offer: their health (GpuHealth), whether they are
// clean (Cleanliness), and their last reading. It turns views of the prober into the facts that
// those two judge, and passes their wishes on. A StateMachine. Owned by Node; on a host with
// simulated GPUs it hears nothing and changes nothing.
//
// - A view is heard once: only looks that began after the last one heard count.
// - A reset or a self-test is asked for when no grant and no leftover is on the GPU.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "agent/hardware/machine_reading.h"
#include "agent/hardware/probe_plan.h"
#include "agent/health/cleanliness.h"
#include "agent/health/gpu_health.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/base/wall_clock.h"
#include "scheduler/protocol/gpu_orders.h"

namespace muster::agent {

/// The key of the record of HostGpus in Environment::kId.
inline constexpr std::string_view kGpusKey = "gpus";

namespace gpus {

/// The prober's view as it is now, and the answers to CleanLook that it made possible.
struct Viewed {
  ProbeView view;
  std::vector<clean::Seen> seen;
  std::vector<clean::NotSeen> not_seen;
};
/// A grant ended on this GPU, or the agent has just begun: it is to be cleaned.
struct ToClean {
  std::string uuid;
  Token token;        ///< Of the last grant; zero = not known.
  std::string why{};  ///< clean::GrantEnded::why
};
/// The GPUs that the leader knows of this host.
struct Offered {
  std::vector<std::string> uuids;
};
/// The GPUs on which a grant is, as they are now. Heard while HostGpus::waits_for_idle().
struct Held {
  std::set<std::string> uuids;
};
/// An operator's order of the log. An unmask ends the causes that the host itself found; a mask is
/// the log's alone, which places nothing there. One that is not above the last one heard changes
/// nothing, also behind a restart of the agent: the leader repeats them.
struct Ordered {
  scheduler::GpuOrder order;
};
using Input = std::variant<Viewed, ToClean, Offered, Held, Ordered, health::Input>;

/// Look at a GPU with its processes and the control group of its last grant, then tell Viewed.
struct CleanLook {
  std::string uuid;
  Token token;
  bool operator==(const CleanLook&) const = default;
};
/// Kill the process, if it is in the control group of that grant, which has ended.
struct KillHolder {
  std::string uuid;
  std::uint32_t pid = 0;
  Token token{};
  bool operator==(const KillHolder&) const = default;
};
/// Look at all GPUs soon.
struct LookSoon {
  bool operator==(const LookSoon&) const = default;
};
/// Reset the GPU; health::ResetBegan and ResetEnded answer. Not answered if the host has no way to.
struct ResetGpu {
  std::string uuid;
  bool operator==(const ResetGpu&) const = default;
};
/// Test the GPU; health::CheckEnded answers.
struct CheckGpu {
  std::string uuid;
  bool operator==(const CheckGpu&) const = default;
};
using Command = std::variant<CleanLook, KillHolder, LookSoon, ResetGpu, CheckGpu>;

struct Output {
  std::vector<Command> commands;
  std::vector<std::string> cleaned;     ///< GPUs of ToClean that are clean.
  bool has_changed = false;             ///< Which GPUs are well, or whether the host is.
  std::optional<std::string> record{};  ///< For kGpusKey, in place of the last one.
  std::vector<Event> events;

  bool is_empty() const {
    return commands.empty() && cleaned.empty() && !has_changed && !record.has_value() &&
           events.empty();
  }
};

}  // namespace gpus

class HostGpus {
 public:
  using Input = gpus::Input;
  using Output = gpus::Output;

  /// `record` is the value of kGpusKey; "" = there is no. One that cannot be read is told, and
  /// counts as none.
  HostGpus(Instant now, const WallClock& clock, std::string boot_id, const std::string& record);

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;

  bool has_output() const { return !out_.is_empty(); }
  /// Output::has_changed, of the output that was not taken yet.
  bool has_changed() const { return out_.has_changed; }
  /// True if a reset or a self-test waits for its GPU to be idle.
  bool waits_for_idle() const { return !resets_.empty() || !checks_.empty(); }
  /// False if it is masked or failed: no new grant comes onto it.
  bool is_well(const std::string& uuid) const;
  /// The last order of an operator that was heard.
  Token ordered() const { return ordered_; }
  HostHealthInfo host() const { return health_.host(); }
  std::vector<GpuHealthInfo> health() const { return health_.gpus(); }
  /// The GPUs that are withheld because they are not seen clean, and why.
  std::map<std::string, std::string> dirty() const { return cleanliness_.dirty(); }
  /// The last reading; empty before the first.
  const MachineReading& reading() const { return reading_; }

 private:
  /// As the record has it.
  struct Kept {
    HealthRecord health;
    Cleanliness::Lowest lowest;
    Token ordered{};
    bool is_damaged = false;
  };
  static Kept recovered(Instant now, const WallClock& clock, const std::string& boot_id,
                        const std::string& record);
  HostGpus(Instant now, const WallClock& clock, std::string boot_id, Kept kept);

  void hear(Instant now, gpus::Viewed& viewed);
  void hear(Instant now, gpus::ToClean& gpu);
  void hear(Instant now, gpus::Offered& offered);
  void hear(Instant now, gpus::Held& held);
  void hear(Instant now, gpus::Ordered& ordered);
  void hear(Instant now, health::Input& fact);
  void hear_sights(Instant now, const ProbeView& view);
  void hear_look(Instant now, const ProbeView& view);
  void drain(Instant now);
  bool is_news() const;
  std::string record(Instant now) const;

  WallClock clock_;
  std::string boot_id_;
  GpuHealth health_;
  Cleanliness cleanliness_;
  MachineReading reading_;
  std::map<std::string, Instant> looked_at_;  ///< By PCI id: the begin of the last look heard.
  Instant whole_look_ = kLongAgo;
  std::set<std::string> hanging_;      ///< uuids.
  std::map<std::string, Token> last_;  ///< The last grant of each GPU that is being cleaned.
  std::set<std::string> resets_;       ///< Wanted, not asked for yet.
  std::set<std::string> checks_;
  Token ordered_;  ///< The last order of an operator that was heard.
  Kept kept_;      ///< As it was handed out last.
  Output out_;
};

}  // namespace muster::agent
