#pragma once
// Cleanliness decides when a GPU may be offered again after a grant. A GPU is clean when all of
// this holds in one look: no process is left in the grant's cgroup, no process uses the GPU, the
// used memory is near the lowest that this GPU ever had when it was clean, and the driver asks for
// no recovery. A StateMachine. Owned by the agent.
//
// - A fact that cannot be read does not keep a GPU: it is named in the result as not checked. A
// look
//   that is not answered at all tells nothing, and the GPU waits.
// - A process of the grant itself is to be killed; a foreign one is only named.
// - A GPU is offered at its Cleaned and at nothing else. At most kGpusReadMax GPUs are watched; one
//   beyond them has no Cleaned.
// - After kLeakedAfter a GPU counts as leaked. It is still looked at, and clean if it becomes
// clean.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/hardware/machine_reading.h"
#include "gossip/base/event.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// Looks are this far apart at first, for kCleanSoon, and later.
inline constexpr Duration kCleanLookEvery = std::chrono::milliseconds(100);
inline constexpr Duration kCleanSoon = std::chrono::seconds(10);
inline constexpr Duration kCleanLookLater = std::chrono::seconds(5);
inline constexpr Duration kLeakedAfter = std::chrono::seconds(60);
/// The driver's own use moves by a few MiB between looks; a CUDA context takes hundreds.
inline constexpr std::uint64_t kCleanMemoryBytes = 64ULL << 20;
/// A process of ours that is seen again is killed again after this time.
inline constexpr Duration kKillAgain = std::chrono::seconds(1);
/// Processes that a reason names; the others are counted.
inline constexpr std::size_t kHoldersNamedMax = 4;

namespace clean {

/// A grant ended on this GPU: look until it is clean.
struct GrantEnded {
  std::string uuid;
  std::string why{};  ///< Why no look at it is answered yet; "" = no reason is known.
};
struct Holder {
  std::uint32_t pid = 0;
  bool is_ours = false;  ///< It belongs to the grant that ended.
  std::string user;      ///< "" if unknown.
  std::string program;   ///< "" if unknown.
  bool operator==(const Holder&) const = default;
};
/// A look at a GPU that was asked for, or at an idle one. An absent optional could not be read.
struct Seen {
  std::string uuid;
  Instant began{};
  std::optional<bool> is_cgroup_empty;
  std::optional<std::uint64_t> used_bytes;  ///< Without the memory that the driver reserves.
  std::optional<std::vector<Holder>> holders;
  std::optional<RecoveryAction> recovery;
};
/// The look was not answered in time.
struct NotSeen {
  std::string uuid;
};
/// The GPU was reset: its lowest use begins again.
struct WasReset {
  std::string uuid;
};
using Input = std::variant<GrantEnded, Seen, NotSeen, WasReset>;

struct Kill {
  std::string uuid;
  std::uint32_t pid = 0;
  bool operator==(const Kill&) const = default;
};
struct Cleaned {
  std::string uuid;
  Duration took{};
  std::string
      unchecked;  ///< Facts that could not be read: "memory, processes"; "" if there is no such.
};
struct Output {
  std::vector<std::string> looks;  ///< GPUs to look at now; each is answered by Seen or NotSeen.
  std::vector<Kill> kills;
  std::vector<Cleaned> cleaned;
  std::vector<std::string> leaked;  ///< Just now: a reset hook may help.
  std::vector<Event> events;
};

}  // namespace clean

class Cleanliness {
 public:
  using Input = clean::Input;
  using Output = clean::Output;
  using Lowest = std::map<std::string, std::uint64_t>;

  Cleanliness() = default;
  /// With the lowest clean uses of earlier, by uuid: they outlive the agent, not a boot.
  explicit Cleanliness(Lowest lowest) : lowest_(std::move(lowest)) {}

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;

  /// The GPUs that are not offered yet, by uuid, and why: "pid 77 (python of ann) uses it".
  std::map<std::string, std::string> dirty() const;
  const Lowest& lowest() const { return lowest_; }

 private:
  struct Watch {
    Instant since{};
    Instant look_at{};  ///< kNever while a look is out.
    bool is_leaked = false;
    std::string why;
    std::map<std::uint32_t, Instant> killed;  ///< By pid; those of the last look.
  };

  void hear(Instant now, const clean::GrantEnded& ended);
  void hear(Instant now, const clean::Seen& seen);
  void hear(Instant now, const clean::NotSeen& not_seen);
  void hear(Instant now, const clean::WasReset& reset);
  /// Why the GPU is not clean; "" if it is.
  std::string judge(const clean::Seen& seen) const;
  void plan(Instant now, Watch& watch) const;
  void kill(Instant now, Watch& watch, const clean::Seen& seen);

  std::map<std::string, Watch> watches_;
  Lowest lowest_;
  Output out_;
};

}  // namespace muster::agent
