#pragma once
// A FollowTopic is what several followers are told in the same words: one output, one job, one list
// or the events of one host. It knows where each follower stands, whom to ask for next, and when.
// Pure; the records of FollowBook.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/api/rest/follow_wish.h"
#include "agent/api/rest/rank_place.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"

namespace muster::agent {

struct Follower {
  FollowProof proof{};
  FollowWish wish{};
  std::uint64_t topic = 0;  ///< Its number; 0 = not before the first answer.
  std::uint64_t at = 0;     ///< kOutput, kEvents: all up to here was pushed, or told as a gap.
  /// kOutput, kEvents: what was there at its beginning. Up to here it reads at its own pace, and
  /// loses nothing.
  std::uint64_t goal = 0;
  std::string seen{};              ///< kJob, kJobs: StateIds::look of what was pushed; "" = none.
  Instant checked_at = kLongAgo;   ///< When its proof was last good.
  Instant check_at = kNever;       ///< When it is checked again.
  bool may_read = false;           ///< kOutput: FollowNews::proves_output of its own proof.
  Instant beat_at{};               ///< The last heartbeat.
  Instant blocked_since = kNever;  ///< A push was refused: it is told nothing until it has room.
  bool is_told_stale = false;
  bool is_checked_now = false;  ///< A check is under way.
};
using Followers = std::map<std::uint64_t, Follower>;

/// On an older proof no byte is pushed, whatever keeps the check from its answer.
inline constexpr Duration kFollowProofAge = std::chrono::seconds(60);

struct FollowTopic {
  std::string key{};
  FollowWish wish{};
  RankPlace place{};
  HostId target{};
  std::set<std::uint64_t> followers{};
  std::uint64_t size = 0;     ///< kOutput, kEvents: the end of what there is, by the last answer.
  bool is_ended = false;      ///< kOutput: no bytes come behind it.
  std::string end_text{};     ///< Not empty: nothing comes, and why.
  std::string look{};         ///< kJob, kJobs: of the last answer.
  bool is_asking = false;     ///< One question at a time.
  std::uint64_t last_at = 0;  ///< The position that was asked for last.
  Duration pause{0};          ///< Between two questions at the end.
  Instant next_ask{};
  int failures = 0;     ///< Behind each other.
  std::string stale{};  ///< Not empty: no news can be had, and why.

  bool has_positions() const {
    return wish.kind == FollowKind::kOutput || wish.kind == FollowKind::kEvents;
  }
  /// Its output is not there yet: the question is where it is.
  bool waits_for_place() const { return wish.kind == FollowKind::kOutput && !place.has_host; }
  Duration pause_min() const;
  Duration pause_max() const;
  /// News count as the topic's own if all of its followers are told them. Precondition: `to` are
  /// followers of it.
  bool is_told_whole(const std::set<std::uint64_t>& to) const {
    return to.size() == followers.size();
  }
  /// Whether that follower may be told something now.
  bool serves(const Follower& follower, Instant now) const;
  /// When the next question is due; kNever while one is under way, or nobody could be told.
  Instant due(const Followers& all, Instant now) const;
  /// For whom to ask now. Precondition: due() <= now.
  std::uint64_t asker(const Followers& all, Instant now) const;
  /// The next question at the end: soon after news, later without.
  void pace(Instant now, Instant asked_at, bool has_news);

 private:
  /// The followers that may be told something, and have bytes before them or not.
  std::map<std::uint64_t, std::uint64_t> standing(const Followers& all, Instant now,
                                                  bool are_behind) const;
  bool looks_behind(const Followers& all, Instant now) const;
};

}  // namespace muster::agent
