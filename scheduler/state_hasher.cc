#include "scheduler/state_hasher.h"

#include <algorithm>
#include <string>

#include <xxhash.h>

#include "scheduler/state.h"

namespace muster::scheduler {

void StateHasher::restored(const State& state) {
  is_anchored_ = is_snapshot_due(state.applied());
  if (is_anchored_) {
    anchor(state.encode());
  }
}

void StateHasher::applied(Term term, std::string_view command, const State& state) {
  const std::uint64_t did[] = {folded_, term.value(), state.last_outcome()};
  const std::uint64_t seed = XXH3_64bits(did, sizeof did);
  folded_ = XXH3_64bits_withSeed(command.data(), command.size(), seed);
}

bool StateHasher::is_point(LogIndex index) const {
  return index.value() % std::max<std::uint64_t>(snapshot_entries_ / kHashPoints, 1) == 0 ||
         is_snapshot_due(index);
}

bool StateHasher::is_deep(LogIndex index) const {
  return is_snapshot_due(index) || (is_anchored_ && deep_bytes_ <= kDeepBytesMax);
}

StateHash StateHasher::hash(LogIndex index, std::string_view encoded) {
  if (is_deep(index)) {
    anchor(encoded);
  }
  return is_anchored_ ? StateHash{kStateHashForm, index, folded_} : StateHash();
}

void StateHasher::anchor(std::string_view encoded) {
  is_anchored_ = true;
  deep_bytes_ = encoded.size();
  folded_ = XXH3_64bits(encoded.data(), encoded.size());
}

}  // namespace muster::scheduler
