#pragma once
// Client keys and the jobs that they were answered with: a Submit under a remembered key gives the
// same job again. Owned by Books; pure.
//
// Invariant: each key is remembered once, and forgotten oldest first, in the order of the jobs'
// numbers. forgetting.h says when.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gossip/base/hash_index.h"
#include "scheduler/protocol/job.h"

namespace muster::scheduler {

inline constexpr Duration kClientKeyLife = std::chrono::hours(24 * 7);

class ClientKeys {
 public:
  struct Record {
    std::string key;
    Duration at{0};  ///< Cluster time of its Submit.
    bool operator==(const Record&) const = default;
  };
  /// By the job that the key was answered with.
  using Records = std::map<JobId, Record>;

  ClientKeys() = default;
  /// From a snapshot. Precondition: no key is there twice.
  explicit ClientKeys(Records records);

  const Records& all() const { return records_; }
  std::size_t size() const { return records_.size(); }
  std::optional<JobId> find(std::string_view key) const;
  /// Whether some key is older than kClientKeyLife.
  bool has_outlived(Duration cluster_time) const;
  /// The job whose key is forgotten next. Precondition: there is a key.
  JobId oldest_job() const;

  /// Precondition: the key is not remembered, and no job was given a higher number.
  void remember(const std::string& key, JobId job, Duration at);
  /// Returns the forgotten key. Precondition: there is one.
  std::string forget_oldest();

  void check() const;

 private:
  Records records_;
  HashIndex<JobId> jobs_;  ///< By key.
};

}  // namespace muster::scheduler
