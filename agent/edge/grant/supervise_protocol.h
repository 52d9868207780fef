#pragma once
// The frames of an agent and a supervisor on their unix socket, and the results that the supervisor
// leaves on disk. A frame is a length (4 bytes, little endian) and one encoded array. Both ends run
// on one kernel, so Instants travel as they are.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"
#include "scheduler/protocol/job.h"

namespace muster::agent {

inline constexpr std::size_t kFrameBytesMax = 1 << 20;
/// GPUs of one host (16) with slices (7 each), rounded up.
inline constexpr std::size_t kRanksPerHostMax = 128;

/// The values that differ between the ranks of a grant.
struct RankPlan {
  std::uint32_t rank = 0;
  std::vector<std::string> environment;  ///< "KEY=VALUE", beside the shared one.
  bool operator==(const RankPlan&) const = default;
};

/// agent -> supervisor
struct LaunchOrder {
  std::vector<std::string> argv;
  std::string directory;
  std::vector<std::string> environment;  ///< Shared by all ranks; names differ from the ranks' own.
  std::vector<RankPlan> ranks;
  Duration grace{0};
  bool keep_when_isolated = false;
  Instant hold_until{};
  scheduler::SubmitShell shell{};
  bool operator==(const LaunchOrder&) const = default;
};
struct TerminateOrder {
  Duration grace{0};
  std::string reason;
  bool operator==(const TerminateOrder&) const = default;
};
struct HoldOrder {
  Instant hold_until{};
  bool operator==(const HoldOrder&) const = default;
};
/// The grant is over in every respect. A supervisor that launched nothing ends; ranks that an
/// order of an earlier life of the agent started meanwhile are killed without grace: no job counts
/// on them, and another may have their GPUs. A supervisor that stops already goes on with its stop.
struct DismissOrder {
  bool operator==(const DismissOrder&) const = default;
};
/// Output of a rank that is not kept, so far (RankResult::lost_bytes, surplus_bytes).
struct DroppedOutput {
  std::uint32_t rank = 0;
  std::uint64_t lost_bytes = 0;
  std::uint64_t surplus_bytes = 0;
  bool operator==(const DroppedOutput&) const = default;
};
/// supervisor -> agent, on every connection and whenever it changed. That more output is dropped of
/// a rank that dropped some already is no change.
struct SupervisorStatus {
  enum class Phase : std::uint8_t {
    kPrepared = 0,
    kLaunching = 1,  ///< Some rank is not exec'd yet.
    kRunning = 2,
    kStopping = 3,
    kEnded = 4,  ///< Namespace empty, evidence durable.
  };
  Phase phase = Phase::kPrepared;
  bool has_namespace = false;  ///< False: ranks that fork away may outlive a killed supervisor.
  std::uint32_t rank_count = 0;
  gossip::Endpoint master;
  Instant hold_until{};
  std::vector<scheduler::RankResult> results;  ///< Of the ranks that ended, in order of ending.
  /// False: ranks see the /proc of the host, where their own numbers are those of other processes.
  bool has_own_proc = true;
  std::vector<DroppedOutput> dropped;  ///< Of ranks that dropped any.
  /// The reason, for people, that no rank may become the user of the job on this host; "" = one
  /// may. With it the supervisor stays PREPARED and starts no rank.
  std::string refusal{};
  bool operator==(const SupervisorStatus&) const = default;
};

using SupervisorFrame =
    std::variant<LaunchOrder, TerminateOrder, HoldOrder, DismissOrder, SupervisorStatus>;

/// With the length in front.
std::string encode_frame(const SupervisorFrame& frame);
/// Takes the first whole frame off `buffer`. nullopt if the frame is not complete. kInvalid: the
/// peer is not one of us; close.
Result<std::optional<SupervisorFrame>> take_frame(std::string& buffer);

std::string encode_results(const std::vector<scheduler::RankResult>& results);
std::optional<std::vector<scheduler::RankResult>> decode_results(const std::string& bytes);

// ---- small files and descriptors, shared by both ends ----

/// Closes on destruction; -1 = none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

std::string errno_text(int code);
/// Whole content; nullopt if it cannot be read or is longer than kFrameBytesMax.
std::optional<std::string> read_file(const std::string& path);
/// Written beside, fsynced, renamed, directory fsynced: complete or absent after a crash.
Status write_file_durably(const std::string& directory, const std::string& name,
                          const std::string& bytes);
/// Sends all of `bytes` or fails; never raises SIGPIPE. A peer that reads nothing fails it.
bool send_all(int fd, const std::string& bytes);
/// Reads what is there into `buffer`. False at the end of the stream or on an error.
bool receive_some(int fd, std::string& buffer);
/// Start time of a process in clock ticks since boot; nullopt if it is gone.
std::optional<std::uint64_t> start_time_of(int pid);

}  // namespace muster::agent
