#pragma once
// An operator's orders about GPUs: the entry of the log, the order as the log keeps it and as the
// host hears it, and the two messages between leader and agent (PROTOCOL.md, 15).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/wire/wire.h"
#include "scheduler/protocol/users.h"

namespace muster::scheduler {

/// Size of the reason of an order; the log refuses a longer one.
inline constexpr std::size_t kGpuWhyBytesMax = 256;
/// Size of GpuOrder::by, "USER@HOST"; the log cuts a longer one.
inline constexpr std::size_t kGpuOrderByBytesMax = 520;
/// Orders in one message. A leader that has more for a host sends the next ones once the host has
/// acknowledged these.
inline constexpr std::size_t kGpuOrdersMax = 32;

namespace entry {

/// An operator takes a GPU out of use, or says that it is well. Attempts that hold the GPU go on.
struct GpuOrder {
  HostId host;
  std::string uuid;
  bool is_mask = false;  ///< False: unmask, which also ends the causes that the host itself found.
  std::string why;
  Subject by;
  bool operator==(const GpuOrder&) const = default;
};

}  // namespace entry

/// The last order about a GPU.
struct GpuOrder {
  std::string uuid;
  bool is_mask = false;
  std::string why;
  std::string by;            ///< "USER@HOST"
  std::int64_t unix_ms = 0;  ///< The leader's wall clock then; 0 = not known.
  /// The epoch and the log index of its entry: a later order is above, also after a recovery of the
  /// quorum, which may give an index twice.
  Token at;
  bool operator==(const GpuOrder&) const = default;
};

/// leader -> agent: orders that the host may not have heard, the oldest first.
struct GpuOrders {
  AgentStart start;              ///< The registered start of the host: another one ignores them.
  std::vector<GpuOrder> orders;  ///< At most kGpuOrdersMax.
  bool operator==(const GpuOrders&) const = default;
};
/// agent -> leader: this start has heard each order up to `heard`.
struct GpuOrdersAck {
  AgentStart start;
  Token heard;
  bool operator==(const GpuOrdersAck&) const = default;
};

/// Number of elements of the entry behind its header.
inline constexpr std::size_t kGpuOrderElements = 5;
void write(gossip::Encoder& out, const entry::GpuOrder& fact);
entry::GpuOrder read_gpu_order(gossip::Reader& in);
/// One array. The reader fails beyond `count_max` orders, and beyond the sizes above.
void write(gossip::Encoder& out, const std::vector<GpuOrder>& orders);
std::vector<GpuOrder> read_gpu_orders(gossip::Reader& in, std::size_t count_max);

}  // namespace muster::scheduler
