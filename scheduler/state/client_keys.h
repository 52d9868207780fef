#pragma once
// The jobs that clients' keys were answered with: a Submit under a key that is remembered gives the
// same job again. Owned by Books; pure.
//
// Invariant: each key is remembered once, and forgotten oldest first: in the order of the jobs'
// numbers. When that is done is another's question (forgetting.h).

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
  /// By the job that it was answered with.
  using Records = std::map<JobId, Record>;

  ClientKeys() = default;
  /// Of a snapshot. Precondition: no key is there twice.
  explicit ClientKeys(Records records);

  const Records& all() const { return records_; }
  std::size_t size() const { return records_.size(); }
  std::optional<JobId> find(std::string_view key) const;
  /// Some key is older than kClientKeyLife.
  bool has_outlived(Duration cluster_time) const;
  /// Whose key is forgotten next. Precondition: there is one.
  JobId oldest_job() const;

  /// Precondition: the key is not remembered, and no job was given a higher number.
  void remember(const std::string& key, JobId job, Duration at);
  /// Gives the key that is forgotten by this. Precondition: there is one.
  std::string forget_oldest();

  void check() const;

 private:
  Records records_;
  HashIndex<JobId> jobs_;  ///< By key.
};

}  // namespace muster::scheduler
