#pragma once
// DoorMetrics keeps the text of /metrics for a moment, so that many scrapes cost one walk. It
// counts the times at which the loop stood still. Beside it stand the counters of the edge as the
// metrics that agent/api/rest/edge_metrics.h has no names for. Owned by EventLoop; used by its
// thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/api/rest/edge_metrics.h"
#include "agent/api/rest/metrics_text.h"
#include "agent/edge/run/web_door.h"
#include "gossip/base/time.h"
#include "gossip/edge/zmq_transport.h"

namespace muster::agent {

class DoorMetrics {
 public:
  /// A text is made at most once in this time.
  static constexpr Duration kKept = std::chrono::seconds(1);
  /// The loop stood still if it came so much later than it meant to.
  static constexpr Duration kStall = std::chrono::milliseconds(500);

  /// `started_unix_ms`: EdgeMetrics::started_unix_ms
  explicit DoorMetrics(std::int64_t started_unix_ms) : started_unix_ms_(started_unix_ms) {}

  /// The loop waited from `began` to `ended`, and meant to wait for `meant`. Between two calls it
  /// worked.
  void waited(Instant began, Duration meant, Instant ended);
  /// Without disk and links, which the caller fills in. Call in the thread of the loop, whose CPU
  /// time it has.
  EdgeMetrics edge() const;

  using Make = std::function<std::vector<MetricFamily>()>;
  /// The text of these families, or that of at most kKept ago.
  const std::string& text(Instant now, const Make& make);

 private:
  void note_late(Duration late);

  std::int64_t started_unix_ms_;
  LoopMetrics loop_;
  Instant waited_until_ = kNever;  ///< kNever: it did not wait yet.
  Instant made_at_ = kLongAgo;
  std::string text_;
};

/// `dropped`: LoginQueue::dropped().
LinkMetrics link_metrics(const gossip::ZmqTransport::Stats& links, std::uint64_t dropped);

/// The largest number of series of door_families().
inline constexpr std::size_t kDoorSeriesMax = 40;
/// One series for HTTPS and one for the unix socket in each family, where there is such a server.
std::vector<MetricFamily> door_families(const std::vector<DoorStats>& doors);

}  // namespace muster::agent
