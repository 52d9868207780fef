#include "scheduler/state/client_keys.h"

#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {

ClientKeys::ClientKeys(Records records) : records_(std::move(records)) {
  for (const auto& [job, record] : records_) {
    jobs_.put(IndexHash()(record.key), job);
  }
}

std::optional<JobId> ClientKeys::find(std::string_view key) const {
  const JobId* known = jobs_.find(IndexHash()(key),
                                  [&](JobId job) { return records_.find(job)->second.key == key; });
  return known == nullptr ? std::nullopt : std::optional(*known);
}

bool ClientKeys::has_outlived(Duration cluster_time) const {
  return !records_.empty() && cluster_time - records_.begin()->second.at > kClientKeyLife;
}

JobId ClientKeys::oldest_job() const {
  CHECK(!records_.empty());
  return records_.begin()->first;
}

void ClientKeys::remember(const std::string& key, JobId job, Duration at) {
  CHECK(records_.empty() || records_.rbegin()->first < job);
  records_.emplace_hint(records_.end(), job, Record{key, at});
  jobs_.put(IndexHash()(key), job);
}

std::string ClientKeys::forget_oldest() {
  CHECK(!records_.empty());
  auto oldest = records_.extract(records_.begin());
  std::string key = std::move(oldest.mapped().key);
  jobs_.remove(IndexHash()(key), [&](JobId job) { return job == oldest.key(); });
  return key;
}

void ClientKeys::check() const {
  CHECK(jobs_.size() == records_.size());
}

}  // namespace muster::scheduler
