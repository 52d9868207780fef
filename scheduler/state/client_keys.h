#pragma once
// The jobs that clients' keys were answered with: a Submit under a key that is remembered gives the
// same job again. Owned by Books; pure.
//
// Invariant: each key is remembered once, and forgotten oldest first (by cluster time, then by
// key). When that is done is another's question (forgetting.h).

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "scheduler/protocol/job.h"

namespace muster::scheduler {

inline constexpr Duration kClientKeyLife = std::chrono::hours(24 * 7);

class ClientKeys {
 public:
  struct Record {
    JobId job;
    Duration at{0};  ///< Cluster time of its Submit.
    bool operator==(const Record&) const = default;
  };

  ClientKeys() = default;
  /// Of a snapshot.
  explicit ClientKeys(std::map<std::string, Record> keys);

  const std::map<std::string, Record>& all() const { return keys_; }
  std::size_t size() const { return keys_.size(); }
  std::optional<JobId> find(const std::string& key) const;
  /// Some key is older than kClientKeyLife.
  bool has_outlived(Duration cluster_time) const;
  /// Whose key is forgotten next. Precondition: there is one.
  JobId oldest_job() const;

  /// Precondition: the key is not remembered.
  void remember(const std::string& key, JobId job, Duration at);
  /// Gives the key that is forgotten by this. Precondition: there is one.
  std::string forget_oldest();

  void check() const;

 private:
  std::map<std::string, Record> keys_;
  std::set<std::pair<Duration, std::string>> by_time_;  ///< Derived.
};

}  // namespace muster::scheduler
