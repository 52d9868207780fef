#pragma once
// ShareBook: how much of each pool every queue and every user of a leaf holds, its decayed mean,
// and the credit that follows from it. A pool is the GPUs of one type, or the CPUs of jobs without
// GPUs. Owned by Books; pure. Integers only: every voter has the same numbers.
//
// The charge of a member (scheduler/state/charge.h) is its dominant amount in its pool (Ghodsi et
// al., "Dominant Resource Fairness", NSDI 2011, section 4.1), in thousandths of a GPU or CPU.
//
// Invariants: `held` of a queue is the sum of the charges of the members below it that are not
// over; kRootQueue holds the sum of all. Means change by sample() alone, once a minute of cluster
// time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/state/queue_book.h"

namespace muster::scheduler {

/// Pools that are kept apart. Attempts of further GPU types share the pool kOtherPool.
inline constexpr std::size_t kPoolsMax = 64;
/// Users with a share of their own, in all pools together; further ones share the user kOtherUsers.
inline constexpr std::size_t kUserSharesMax = 4096;
inline constexpr std::string_view kOtherUsers = "other users";
inline constexpr Duration kSampleEvery = std::chrono::minutes(1);
/// Credits, in 1/1024: from a half to the double.
inline constexpr std::uint32_t kCreditOne = 1024;
inline constexpr std::uint32_t kCreditMin = 512;
inline constexpr std::uint32_t kCreditMax = 2048;
/// Fractional bits of a mean: Share::mean is in thousandths / 2^16.
inline constexpr unsigned kMeanBits = 16;

/// Where the charges of an attempt count: fixed when it is decided.
struct AttemptShare {
  std::string queue;  ///< A leaf of the tree.
  std::string user;   ///< "" in a queue whose users share one leaf.
  std::string pool;
  bool operator==(const AttemptShare&) const = default;
};

struct Share {
  std::uint64_t held = 0;  ///< Thousandths of a GPU, or of a CPU in kCpuPool.
  std::uint64_t mean = 0;  ///< Decayed, with kMeanBits more bits.
  std::uint32_t credit = kCreditOne;
  bool operator==(const Share&) const = default;
};

class ShareBook {
 public:
  /// A user of a leaf.
  using UserKey = std::pair<QueueNumber, std::string>;
  struct Pool {
    std::vector<Share> queues;       ///< By number.
    std::map<UserKey, Share> users;  ///< Users that hold something or have a mean.
    bool operator==(const Pool&) const = default;
  };
  using Pools = std::map<std::string, Pool, std::less<>>;

  ShareBook() = default;
  /// From a snapshot, which has means and credits; nothing is held yet.
  ShareBook(Pools pools, Duration sampled_at);

  const Pools& pools() const { return pools_; }
  /// Cluster time of the last sample.
  Duration sampled_at() const { return sampled_at_; }

  /// `share` with the pool and the user that it would be charged to: kOtherPool and kOtherUsers
  /// once there are too many.
  AttemptShare settled(const QueueBook& queues, AttemptShare share) const;
  /// A member of that share holds `charge` from now on. Precondition: settled() returned the share.
  void add(const QueueBook& queues, const AttemptShare& share, std::uint64_t charge);
  /// Precondition: it was added.
  void remove(const QueueBook& queues, const AttemptShare& share, std::uint64_t charge);
  /// Samples each minute up to that time. True if credits may have changed.
  bool sample(const QueueBook& queues, Duration cluster_time);
  /// The tree changed. Means go to the queues of the same path, or where `moved` says; nothing is
  /// held until the caller adds all that is.
  void retell(const QueueBook& before, const QueueBook& after,
              const std::function<std::string(const std::string&)>& moved);

  /// Zeros if nothing is known. O(log pools).
  Share share(QueueNumber queue, std::string_view pool) const;
  Share share(QueueNumber queue, const std::string& user, std::string_view pool) const;
  /// Thousandths of GPUs of all types.
  std::uint64_t held_gpus(QueueNumber queue) const;

  /// Thousandths that the queue may still get of the pool before it, or one above it, is at its
  /// max; UINT64_MAX without a limit. `at`, if not null, becomes the queue with that limit.
  std::uint64_t room(const QueueBook& queues, QueueNumber queue, std::string_view pool,
                     QueueNumber* at = nullptr) const;
  /// Whether `charge` more fits into what is left of the queue's own guarantee.
  bool is_owed(const QueueBook& queues, QueueNumber queue, std::string_view pool,
               std::uint64_t charge) const;

  bool operator==(const ShareBook&) const = default;

 private:
  Share* user_share(Pool& pool, const QueueBook& queues, const AttemptShare& share);

  Pools pools_;
  std::vector<std::uint64_t> held_gpus_;  ///< By number: over all pools but kCpuPool.
  std::size_t users_ = 0;                 ///< Of all pools.
  Duration sampled_at_{0};
};

/// The credit of one of several siblings, whose means add up to `means` and weights to `weights`;
/// `total`: the mean of the whole pool. (R + 1 %) / (r + 1 %), in 1/1024.
std::uint32_t credit_of(std::uint64_t mean, std::uint64_t weight, std::uint64_t means,
                        std::uint64_t weights, std::uint64_t total);
/// `mean` one minute later, while `held` thousandths are held.
std::uint64_t mean_after_minute(std::uint64_t mean, std::uint64_t held, Duration half_life);

}  // namespace muster::scheduler
