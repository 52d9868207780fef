#pragma once
// EdgeMetrics: the counters of the loop, the disk and the links around a Node, since the agent
// started, as metrics. The edge fills it in.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/api/rest/metrics_text.h"
#include "gossip/base/time.h"
#include "gossip/base/time_buckets.h"

namespace muster::agent {

struct LoopMetrics {
  std::uint64_t stalls = 0;  ///< Times that the loop stood still for half a second or more.
  Duration stalled{0};       ///< The sum of these times.
  Duration cpu{0};           ///< CPU time of the thread of the loop.
};

/// The file system of the data directory, and the writes that are synced there.
struct DiskMetrics {
  std::uint64_t size_bytes = 0;  ///< 0 = not known: then there is no series of it.
  std::uint64_t free_bytes = 0;  ///< That the agent may use.
  TimeBuckets syncs;             ///< Transactions of id/ and raft/, each with its sync.
};

/// Counters of ZmqTransport and of the logins behind it.
struct LinkMetrics {
  std::uint64_t messages_received = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t dials = 0;
  std::uint64_t ups = 0;
  std::uint64_t downs = 0;
  /// Messages that were dropped.
  struct Drops {
    std::uint64_t malformed = 0;  ///< Inbound, noise too.
    std::uint64_t unproven = 0;   ///< Inbound: no proof of the sender.
    std::uint64_t too_large = 0;
    std::uint64_t queue_full = 0;  ///< Of one link, or of all links.
    std::uint64_t no_route = 0;    ///< The link had ended, or was ending.
    std::uint64_t no_key = 0;      ///< To a host without a known key.
    std::uint64_t logins = 0;      ///< Of logins beyond their pace.
  } drops{};
  /// Connections that were refused.
  struct Refusals {
    std::uint64_t unknown_key = 0;
    std::uint64_t no_curve = 0;
    std::uint64_t malformed = 0;
    std::uint64_t early_tickets = 0;
    std::uint64_t unfinished = 0;  ///< Handshakes beyond their limit.
    std::uint64_t by_peer = 0;     ///< Our own dials.
    std::uint64_t logins = 0;
  } refusals{};
};

struct EdgeMetrics {
  std::int64_t started_unix_ms = 0;          ///< The wall clock at the start; 0 = not known.
  std::int64_t certificate_ends_unix_s = 0;  ///< Of HTTPS; 0 = it shows none.
  LoopMetrics loop{};
  DiskMetrics disk{};
  LinkMetrics links{};
};

/// The largest number of series of edge_families().
inline constexpr std::size_t kEdgeSeriesMax = 64;
/// The families of it: none has a name of node_families() or leader_families().
std::vector<MetricFamily> edge_families(const EdgeMetrics& edge);

}  // namespace muster::agent
