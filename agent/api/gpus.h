#pragma once
// GPUs as the CLI sees them: as the log has them, as their own host last looked at them, and the
// orders of operators about them.

#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"

namespace muster::agent {

/// A GPU is listed if it fits each part that is given.
struct GpusQuery {
  HostId host;       ///< Zero = any.
  JobId job;         ///< The job, or the array of the task, that holds it; 0 = any.
  std::string uuid;  ///< The first characters of its uuid; "" = any.
  HostId after;      ///< The page begins with the first host above; zero = the first page.
  bool operator==(const GpusQuery&) const = default;
};

struct ListedGpu {
  HostId host;
  std::string host_name;
  std::uint64_t index = 0;  ///< In the order of its host's agent.
  std::string uuid;
  std::string gpu_type;
  /// The first that is true: "masked" by an operator, "unreachable" with its host, "quarantined",
  /// "unhealthy" as its host says, "drained" with its host, "withheld" as its host takes no work;
  /// else "healthy".
  std::string state;
  JobId job;                   ///< The job that holds it; 0 = it is not held.
  std::string user;            ///< The owner of that job.
  Token token;                 ///< Of the attempt that holds it.
  std::uint64_t since_ms = 0;  ///< Time in this state; 0 = not known.
  std::string why;             ///< "" if it is healthy, or the log does not know.
  std::string by;              ///< The person that masked it, or unmasked it last; "" = nobody did.
  bool operator==(const ListedGpu&) const = default;
};

struct GpuList {
  std::vector<ListedGpu> gpus;  ///< Sorted by id of the host, then in its agent's order.
  HostId next{};  ///< GpusQuery::after of the next page; zero = this is the last page.
  bool operator==(const GpuList&) const = default;
};

/// Of a mask and of an unmask.
struct GpuOrderArgs {
  HostId host;
  std::string uuid;  ///< All of it.
  std::string why;
  bool operator==(const GpuOrderArgs&) const = default;
};

/// The value of a reading that was not taken, or that this GPU does not give.
inline constexpr std::int64_t kNotRead = -1;
/// Processes of one GPU that an answer names.
inline constexpr std::size_t kBoardProcessesMax = 16;

/// A process that uses a GPU, numbered as its host numbers it.
struct GpuProcessInfo {
  std::uint64_t pid = 0;
  std::int64_t used_bytes = kNotRead;
  bool operator==(const GpuProcessInfo&) const = default;
};

/// A GPU as its own host sees it.
struct GpuOnBoard {
  std::string uuid;
  std::string name;                   ///< Of the model; "" = not read.
  std::string health;                 ///< "ok", "suspect", "masked", "failed"; "" = not judged.
  std::string why;                    ///< "" if its health is ok.
  std::uint64_t since_ms = 0;         ///< Time in this health; 0 if it is ok.
  std::vector<std::string> evidence;  ///< A line for each open cause, or why it was not read.
  std::int64_t use_percent = kNotRead;
  std::int64_t memory_used_bytes = kNotRead;  ///< Without the part that the driver reserves.
  std::int64_t memory_bytes = kNotRead;
  std::int64_t celsius = kNotRead;
  std::int64_t milliwatts = kNotRead;
  std::vector<std::string> throttle;  ///< Why its clocks are lower now: "power_cap", "hw_thermal".
  std::vector<GpuProcessInfo> processes;  ///< At most kBoardProcessesMax.
  std::uint64_t processes_left_out = 0;
  bool operator==(const GpuOnBoard&) const = default;
};

struct GpuBoard {
  HostId host;                   ///< The one that answers.
  std::string driver;            ///< "" = not read.
  bool is_read = false;          ///< False: this host has not looked at its GPUs by a driver.
  std::vector<GpuOnBoard> gpus;  ///< Sorted by uuid.
  bool operator==(const GpuBoard&) const = default;
};

}  // namespace muster::agent
