#include "agent/api/rest/follow_topic.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

/// Of a list of jobs a look is dear: it takes so many times as long as it took.
constexpr int kRestOfLists = 4;

}  // namespace

Duration FollowTopic::pause_min() const {
  switch (wish.kind) {
    case FollowKind::kOutput:
    case FollowKind::kJob:
      return std::chrono::milliseconds(200);
    case FollowKind::kEvents:
      return std::chrono::milliseconds(500);
    case FollowKind::kJobs:
      break;
  }
  return std::chrono::seconds(1);
}

Duration FollowTopic::pause_max() const {
  return std::chrono::seconds(1);
}

bool FollowTopic::serves(const Follower& follower, Instant now) const {
  const bool is_proven =
      wish.kind != FollowKind::kOutput || now - follower.checked_at < kFollowProofAge;
  return is_proven && follower.blocked_since == kNever;
}

/// By position; of several at one position the one whose proof is the oldest.
std::map<std::uint64_t, std::uint64_t> FollowTopic::standing(const Followers& all, Instant now,
                                                             bool are_behind) const {
  std::map<std::uint64_t, std::uint64_t> found;
  for (const std::uint64_t number : followers) {
    const Follower& follower = all.at(number);
    const bool is_behind = has_positions() && follower.at < size;
    if (is_behind != are_behind || !serves(follower, now)) {
      continue;
    }
    const auto [at, is_new] = found.emplace(has_positions() ? follower.at : 0, number);
    if (!is_new && follower.checked_at < all.at(at->second).checked_at) {
      at->second = number;
    }
  }
  return found;
}

/// While news cannot be had, those behind wait, too.
bool FollowTopic::looks_behind(const Followers& all, Instant now) const {
  return failures == 0 && std::any_of(followers.begin(), followers.end(), [&](std::uint64_t each) {
           const Follower& follower = all.at(each);
           return has_positions() && follower.at < size && serves(follower, now);
         });
}

Instant FollowTopic::due(const Followers& all, Instant now) const {
  if (is_asking) {
    return kNever;
  }
  if (looks_behind(all, now)) {
    return now;
  }
  const bool has_any = std::any_of(followers.begin(), followers.end(),
                                   [&](std::uint64_t each) { return serves(all.at(each), now); });
  return has_any ? next_ask : kNever;
}

std::uint64_t FollowTopic::asker(const Followers& all, Instant now) const {
  const auto behind = standing(all, now, true);
  const auto at_end = standing(all, now, false);
  const bool was_behind = last_at < size;
  const bool is_end_due = next_ask <= now && !at_end.empty();
  if (behind.empty() || (is_end_due && was_behind)) {
    CHECK(!at_end.empty());
    return at_end.begin()->second;
  }
  const auto next = behind.upper_bound(last_at);
  return next == behind.end() ? behind.begin()->second : next->second;
}

void FollowTopic::pace(Instant now, Instant asked_at, bool has_news) {
  pause = has_news ? pause_min() : std::clamp(2 * pause, pause_min(), pause_max());
  const int rest = wish.kind == FollowKind::kJobs ? kRestOfLists : 1;
  next_ask = std::max(asked_at + pause, now + rest * (now - asked_at));
}

}  // namespace muster::agent
