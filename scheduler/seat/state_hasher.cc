#include "scheduler/seat/state_hasher.h"

#include <algorithm>
#include <string>

#include <xxhash.h>

#include "scheduler/state/state.h"

namespace muster::scheduler {

void StateHasher::restored(const State& state) {
  const std::string encoded = state.encode();
  anchor(encoded);
  snapshot_bytes_ = encoded.size();
  log_bytes_ = 0;
}

void StateHasher::applied(Term term, std::string_view command, const State& state) {
  const std::uint64_t did[] = {folded_, term.value(), state.last_outcome()};
  const std::uint64_t seed = XXH3_64bits(did, sizeof did);
  folded_ = XXH3_64bits_withSeed(command.data(), command.size(), seed);
  log_bytes_ += command.size();
}

bool StateHasher::is_snapshot_due(LogIndex index) const {
  return index.value() % snapshot_entries_ == 0 ||
         log_bytes_ > std::max(log_bytes_max_, snapshot_bytes_);
}

bool StateHasher::is_point(LogIndex index) const {
  return index.value() % std::max<std::uint64_t>(snapshot_entries_ / kHashPoints, 1) == 0 ||
         is_snapshot_due(index);
}

bool StateHasher::is_deep(LogIndex index) const {
  return is_snapshot_due(index) || deep_bytes_ <= kDeepBytesMax;
}

StateHash StateHasher::hash(LogIndex index, std::string_view encoded) {
  if (is_deep(index)) {
    anchor(encoded);
  }
  if (is_snapshot_due(index)) {
    snapshot_bytes_ = encoded.size();
    log_bytes_ = 0;
  }
  return StateHash{kStateHashForm, index, folded_};
}

void StateHasher::anchor(std::string_view encoded) {
  deep_bytes_ = encoded.size();
  folded_ = XXH3_64bits(encoded.data(), encoded.size());
}

}  // namespace muster::scheduler
