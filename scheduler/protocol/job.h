#pragma once
// The specification of a job, as the log, the agents and the CLI know it.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/array_range.h"
#include "scheduler/protocol/eligibility.h"
#include "scheduler/protocol/queues.h"
#include "scheduler/protocol/request.h"

namespace muster::scheduler {

/// argv and environment of a submit together.
inline constexpr std::size_t kCommandBytesMax = 64 * 1024;

/// The leader's reaction to a gang member whose host is silent.
enum class OnLostHost : std::uint8_t {
  kRequeue,  ///< Wait `patience`, then stop the rest and queue the gang again.
  kWait,     ///< Wait for proof of death or Expire.
};

/// Variables that are added to the environment of a task, and the maximum size of one.
inline constexpr std::size_t kTaskVariables = 2;
inline constexpr std::size_t kTaskVariableBytes = 40;

/// The state that ranks inherit from the process that submitted their job, as they would from a
/// shell. None of it comes from the agent of their host. Defaults are those of a plain Linux.
struct SubmitShell {
  static constexpr std::uint32_t kUmaskMax = 0777;
  static constexpr std::uint64_t kNoLimit = UINT64_MAX;

  std::uint32_t umask = 022;  ///< At most kUmaskMax.
  // Soft limits, up to kNoLimit; a host gives as much as its own hard limits allow.
  std::uint64_t open_files = 1024;
  std::uint64_t stack_bytes = 8 << 20;
  std::uint64_t core_bytes = 0;
  bool operator==(const SubmitShell&) const = default;
};

/// The program that every rank runs.
struct Command {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "KEY=VALUE".
  std::string directory;                 ///< Working directory of every rank.
  SubmitShell shell{};
  bool operator==(const Command&) const = default;
};

/// Time limits of a job.
struct Limits {
  Duration hold{0};  ///< Isolation limit; 0 = default: 10 min over several hosts, 2 min on one.
  bool keep_when_isolated = false;            ///< Never stops by itself, so silence never frees it.
  Duration grace = std::chrono::seconds(10);  ///< Between TERM and KILL.
  Duration patience = std::chrono::seconds(5);  ///< After a silent verdict.
  /// Of an attempt; 0 = none. In a Submit 0 = that of its tier, kNoTimeLimit = none.
  Duration time_limit{0};
  bool operator==(const Limits&) const = default;
};

/// Rules for further attempts of a job.
struct Retry {
  std::uint32_t retries = 0;  ///< Of program failures; lost hosts are not counted.
  OnLostHost on_lost_host = OnLostHost::kRequeue;
  bool operator==(const Retry&) const = default;
};

struct JobSpec {
  std::string name;
  std::string user;
  Request request;
  Command command{};
  Limits limits{};
  Retry retry{};
  std::int32_t priority = 0;          ///< Higher first.
  std::optional<ArrayRange> array{};  ///< nullopt: it is one job.
  bool is_held = false;               ///< The job begins suspended. False for an array.
  std::string team{};                 ///< "" = the first team of the user; the log fills it in.
  std::string queue{};                ///< "" = the default queue of the user; the log fills it in.
  Tier tier = Tier::kNone;            ///< kNone = the first tier of the queue; the log fills it in.
  Eligibility eligibility{};          ///< Of a Submit; the log moves it to JobLife::wait.
  bool operator==(const JobSpec&) const = default;
};

inline constexpr Duration kHoldOneHost = std::chrono::minutes(2);
inline constexpr Duration kHoldGang = std::chrono::minutes(10);
/// How long a host keeps the ranks of an attempt alive without word from the quorum.
inline Duration hold_of(const JobSpec& spec, std::size_t host_count) {
  if (spec.limits.hold > Duration::zero()) {
    return spec.limits.hold;
  }
  return host_count > 1 ? kHoldGang : kHoldOneHost;
}

enum class JobState : std::uint8_t {
  kQueued = 0,     ///< Also between two attempts ("retrying").
  kScheduled = 1,  ///< Its attempt is RESERVED.
  kRunning = 2,    ///< STARTED.
  kStopping = 3,
  kSuspended = 4,
  kCompleted = 5,
  kFailed = 6,
  kCancelled = 7,
};

/// How one rank ended, from its supervisor's durable exit evidence. Exit 0 counts as success only
/// if `kind` is kExited and the supervisor had not signalled the rank before (rule 5).
struct RankResult {
  enum class Kind : std::uint8_t {
    kExited = 0,     ///< `code` = exit status.
    kSignalled = 1,  ///< `code` = signal number that killed it.
    kNeverRan = 2,   ///< No supervisor was ever started for it.
    kLost = 3,       ///< It ran, but no evidence of its end exists.
    kNotStarted = 4  ///< `code` = 127 or 126: exec failed; 0: its host's fault.
  };
  std::uint32_t rank = 0;
  Kind kind = Kind::kExited;
  std::int32_t code = 0;
  bool signalled_by_us = false;
  std::uint64_t output_bytes = 0;
  std::string detail;
  // Output beside output_bytes: lost because the disk was full or failed, and dropped because the
  // rank wrote more than the limit of its log.
  std::uint64_t lost_bytes = 0;
  std::uint64_t surplus_bytes = 0;
  bool operator==(const RankResult&) const = default;
  bool is_success() const { return kind == Kind::kExited && code == 0 && !signalled_by_us; }
};

}  // namespace muster::scheduler
