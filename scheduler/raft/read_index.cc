#include "scheduler/raft/read_index.h"

#include <utility>

#include "scheduler/raft/types.h"

namespace muster::scheduler {

bool ReadIndex::add(std::uint64_t context) {
  if (count_ >= kReadsMax) {
    return false;
  }
  ++count_;
  waiting_.push_back(context);
  return true;
}

void ReadIndex::on_round_begun(std::uint64_t round, LogIndex commit) {
  if (!waiting_.empty()) {
    begun_.push_back({round, commit, std::exchange(waiting_, {})});
  }
}

std::vector<ConfirmedRead> ReadIndex::on_round_answered(std::uint64_t round) {
  std::vector<ConfirmedRead> confirmed;
  while (!begun_.empty() && begun_.front().round <= round) {
    for (const std::uint64_t context : begun_.front().contexts) {
      confirmed.push_back({context, begun_.front().index});
    }
    begun_.pop_front();
  }
  count_ -= confirmed.size();
  return confirmed;
}

std::vector<std::uint64_t> ReadIndex::take_all() {
  std::vector<std::uint64_t> contexts;
  for (const Batch& batch : begun_) {
    contexts.insert(contexts.end(), batch.contexts.begin(), batch.contexts.end());
  }
  contexts.insert(contexts.end(), waiting_.begin(), waiting_.end());
  begun_.clear();
  waiting_.clear();
  count_ = 0;
  return contexts;
}

}  // namespace muster::scheduler
