#pragma once
// GPU time of users, by day of cluster time, user and GPU type. It is charged when GPUs are given
// back; a reader adds the GPUs that are still held. A number for people, not a bill: cluster time
// stands still while there is no leader. Owned by Books; pure.
//
// Invariants: at most kUsageRowsMax rows, no row older than kUsageDays before the newest; no row
// has the time 0.

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "gossip/base/time.h"

namespace muster::scheduler {

inline constexpr std::size_t kUsageRowsMax = 10'000;
inline constexpr std::int64_t kUsageDays = 35;
inline constexpr Duration kUsageDay = std::chrono::hours(24);

/// GPU time of `gpus` GPUs, in milliseconds: nanoseconds would soon overflow.
constexpr std::uint64_t gpu_ms(Duration time, std::uint64_t gpus) {
  return time <= Duration::zero() ? 0 : static_cast<std::uint64_t>(to_ms(time)) * gpus;
}

struct UsageKey {
  std::int64_t day = 0;  ///< Of cluster time, from 0.
  std::string user;      ///< "" = of many users, once there were too many rows.
  std::string gpu_type;
  auto operator<=>(const UsageKey&) const = default;
};

class UsageBook {
 public:
  using Rows = std::map<UsageKey, std::uint64_t>;

  UsageBook() = default;
  /// From a snapshot.
  explicit UsageBook(Rows rows) : rows_(std::move(rows)) {}

  /// GPU time in milliseconds, by key.
  const Rows& rows() const { return rows_; }
  /// Charges `gpus` GPUs of the type that were held from `from` to `to`, in cluster time.
  void charge(const std::string& user, const std::string& gpu_type, Duration from, Duration to,
              std::uint64_t gpus);
  void check() const;

 private:
  void add(UsageKey key, std::uint64_t time);

  Rows rows_;
};

}  // namespace muster::scheduler
