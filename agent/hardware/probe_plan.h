#pragma once
// ProbePlan decides which look at the GPUs comes next, and what each GPU is seen as: read, unknown,
// or hanging. A library call can hang for ever, and then so does its process, which not even KILL
// ends. Therefore all looks happen in probers, processes that can be left behind:
//
// 1. One prober reads all GPUs, again and again. If it gives no answer within `patience`, all GPUs
//    are unknown, and it is killed.
// 2. Then probers of one GPU each find the one that hangs. It is not asked again for `hang_retry`;
//    the others are read again at once, by their own prober and then by a new common one.
// 3. Probers that read, living and killed ones together, are at most `abandoned_max`. With so many
//    killed ones that are still there is no further prober until one is gone, and the driver counts
//    as stuck. The prober that waits for Xids comes on top and is never killed for its silence.
//
// Pure: GpuProber starts, kills and reads the processes. Owned by GpuProber.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/hardware/machine_reading.h"
#include "gossip/base/event.h"
#include "gossip/base/state_machine.h"
#include "gossip/base/time.h"

namespace muster::agent {

struct ProbePlanOptions {
  /// From an answer to the next question. With `patience` it bounds the time until a hang is told.
  Duration look_pause = std::chrono::milliseconds(500);
  Duration hurried_pause = std::chrono::milliseconds(100);  ///< The same while hurry() lasts.
  Duration patience = std::chrono::seconds(2);
  /// Patience with the first answer of a prober: a driver that nobody used sets up its GPUs first.
  Duration start_patience = std::chrono::seconds(10);
  /// A killed prober that is still there after this counts as abandoned.
  Duration death_patience = std::chrono::seconds(1);
  std::size_t abandoned_max = 3;
  Duration hang_retry = std::chrono::seconds(60);
  /// Pause before a prober is started again after a failure. It doubles up to the maximum, until a
  /// prober has answered for `steady`.
  Duration retry_first = std::chrono::seconds(1);
  Duration retry_max = std::chrono::seconds(60);
  Duration steady = std::chrono::seconds(60);
  bool has_events = true;  ///< Whether a prober waits for Xids, too.
};

enum class ProberKind : std::uint8_t {
  kAll,     ///< Reads GPUs at each question.
  kOne,     ///< Reads one GPU once.
  kEvents,  ///< Waits for Xids.
};

// ---- inputs ----

/// The GPUs by their PCI ids as the kernel lists them, before any library is asked.
struct GpusListed {
  std::vector<std::string> pci_ids;
};
struct ProberAnswered {
  std::uint64_t prober = 0;
  MachineReading reading;
};
/// The prober waits for Xids.
struct ProberReady {
  std::uint64_t prober = 0;
};
/// The prober said that it cannot read, or could not be started.
struct ProberFailed {
  std::uint64_t prober = 0;
  std::string text;
};
/// The process is gone.
struct ProberEnded {
  std::uint64_t prober = 0;
};
using ProbePlanInput =
    std::variant<GpusListed, ProberAnswered, ProberReady, ProberFailed, ProberEnded>;

// ---- outputs ----

/// Start a prober; one of kind kAll or kOne is asked by its start.
struct StartProber {
  std::uint64_t prober = 0;  ///< Never used twice.
  ProberKind kind{};
  std::vector<std::string> pci_ids;  ///< The GPUs to look at; empty = all that the library has.
};
struct AskProber {
  std::uint64_t prober = 0;
};
/// Kill the process and read it no more; ProberEnded tells that it is gone.
struct KillProber {
  std::uint64_t prober = 0;
};
using ProbeOrder = std::variant<StartProber, AskProber, KillProber>;

struct ProbePlanOutput {
  std::vector<ProbeOrder> orders;
  std::vector<Event> events;
  bool has_changed = false;  ///< Look at view() again.
};

enum class GpuSight : std::uint8_t {
  kRead,     ///< The last look at it was answered.
  kUnknown,  ///< The driver gives no answer; maybe it hangs because of another GPU.
  kHanging,  ///< A look at it alone is not answered, or ends its prober.
};

struct ProbeView {
  /// The last reading of each GPU. For one that is unknown or hanging, `error` says so.
  MachineReading machine;
  std::vector<GpuSight> sights;  ///< Of the GPUs of `machine`, in their order.
  /// When the question was put that their last readings answer, in their order; kLongAgo = none was
  /// answered yet.
  std::vector<Instant> began;
  /// The same of the last answer about all GPUs: one that it lacks is not there.
  Instant whole_began = kLongAgo;
  bool has_answered = false;     ///< A look has been answered since the start.
  bool is_driver_stuck = false;  ///< No look is possible: too many probers are abandoned.
  std::string failure;           ///< For people: why no look is possible; "" = it is.
};

class ProbePlan {
 public:
  using Input = ProbePlanInput;
  using Output = ProbePlanOutput;

  explicit ProbePlan(ProbePlanOptions options) : options_(options) {}

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;

  /// Looks come at `hurried_pause` until `until`: GPUs wait to be found clean.
  void hurry(Instant until);
  ProbeView view() const;
  /// Killed probers that are still there.
  std::size_t dying() const;

 private:
  struct Prober {
    ProberKind kind{};
    std::vector<std::string> pci_ids;
    Instant asked_at{};           ///< Of its last question.
    Instant doubt_at = kNever;    ///< Its GPUs are unknown from here on.
    Instant give_up_at = kNever;  ///< It is killed here.
    Instant killed_at = kNever;
    bool is_ready = false;  ///< Of kind kEvents.
  };
  struct Gpu {
    GpuReading reading;
    GpuSight sight = GpuSight::kUnknown;
    Instant began = kLongAgo;
    Instant retry_at = kNever;  ///< Of a hanging one.
  };
  struct Backoff {
    Duration pause{0};
    Instant due{};
    Instant good_since = kNever;
  };

  void on(const GpusListed& listed);
  void on(ProberAnswered& answered);
  void on(const ProberReady& ready);
  void on(const ProberFailed& failed);
  void on(const ProberEnded& ended);
  void take(Instant began, MachineReading reading, bool is_whole);
  void doubt(Prober& prober);
  void give_up(std::uint64_t id, Prober& prober);
  void search();
  void count_abandoned();
  void start_singles();
  void keep_all();
  void keep_events();
  void start(ProberKind kind, std::vector<std::string> pci_ids);
  void kill(std::uint64_t id, Prober& prober);
  void see(Gpu& gpu, GpuSight sight);
  void fail(Backoff& backoff) const;
  bool is_searching() const;
  std::size_t free_places() const;
  std::vector<std::string> seen_ids() const;
  Gpu* find(const std::string& pci_id);
  std::map<std::uint64_t, Prober>::iterator living(ProberKind kind);
  void emit(Severity severity, std::string_view name, const std::string& detail);

  ProbePlanOptions options_;
  std::vector<Gpu> gpus_;
  MachineReading head_;  ///< The last reading, without its GPUs.
  std::map<std::uint64_t, Prober> probers_;
  std::uint64_t last_id_ = 0;
  std::deque<std::string> to_search_;  ///< GPUs to be looked at alone.
  Instant now_{};
  Instant next_look_{};
  Instant whole_began_ = kLongAgo;
  Instant hurry_until_ = kLongAgo;
  Backoff all_;
  Backoff events_;
  bool has_answered_ = false;
  bool is_stuck_ = false;
  std::string failure_;
  ProbePlanOutput output_;
};
static_assert(StateMachine<ProbePlan>);

}  // namespace muster::agent
