#pragma once
// XidMerge makes one Xid of its two tellings: the event of the library and the line in the kernel's
// log. Two tellings by different sources about the same GPU and code, at most kMergeWindow apart,
// are one Xid, in whichever order they come. Two tellings by one source are two Xids. Owned by
// GpuHealth.

#include <cstdint>
#include <deque>
#include <string>

#include "gossip/base/time.h"

namespace muster::agent {

inline constexpr Duration kMergeWindow = std::chrono::seconds(1);
/// Tellings that wait for their other half. The oldest goes first: its other half, should it come,
/// counts as a second Xid.
inline constexpr std::size_t kTellingsMax = 1024;

enum class XidSource : std::uint8_t { kEvent = 0, kKernelLog = 1 };

class XidMerge {
 public:
  /// True if this telling is an Xid of its own; false if it is the other half of an earlier one.
  bool is_new(Instant now, XidSource source, const std::string& gpu, std::uint32_t code);
  /// Forgets tellings whose other half is late.
  void forget(Instant now);
  /// When there is a telling to forget.
  Instant next_deadline() const;
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Telling {
    Instant at{};
    XidSource source = XidSource::kEvent;
    std::string gpu;
    std::uint32_t code = 0;
  };
  std::deque<Telling> waiting_;  ///< Oldest first.
};

}  // namespace muster::agent
