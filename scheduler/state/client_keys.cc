#include "scheduler/state/client_keys.h"

#include "gossip/base/check.h"

namespace muster::scheduler {

ClientKeys::ClientKeys(std::map<std::string, Record> keys) : keys_(std::move(keys)) {
  for (const auto& [key, record] : keys_) {
    by_time_.insert({record.at, key});
  }
}

std::optional<JobId> ClientKeys::find(const std::string& key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? std::nullopt : std::optional(found->second.job);
}

bool ClientKeys::has_outlived(Duration cluster_time) const {
  return !by_time_.empty() && cluster_time - by_time_.begin()->first > kClientKeyLife;
}

JobId ClientKeys::oldest_job() const {
  CHECK(!by_time_.empty());
  return keys_.at(by_time_.begin()->second).job;
}

void ClientKeys::remember(const std::string& key, JobId job, Duration at) {
  const bool is_new = keys_.try_emplace(key, Record{job, at}).second;
  CHECK(is_new);
  by_time_.insert({at, key});
}

std::string ClientKeys::forget_oldest() {
  CHECK(!by_time_.empty());
  auto oldest = by_time_.extract(by_time_.begin());
  keys_.erase(oldest.value().second);
  return std::move(oldest.value().second);
}

void ClientKeys::check() const {
  CHECK(keys_.size() == by_time_.size());
}

}  // namespace muster::scheduler
