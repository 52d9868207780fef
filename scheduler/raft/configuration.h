#pragma once
// Who votes and who only listens (thesis 4). A configuration is an entry of the log; the newest one
// in a log counts there at once, committed or not (4.1). One voter at a time comes or goes, so any
// two neighbouring configurations share a majority.
//
// A member is a seat: a host and one life of its raft/ directory. A host that lost its disk comes
// back under another seat id: what it says is then not taken for the word of the voter that it was,
// which may have acknowledged entries and given votes that the new disk knows nothing of.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/ids.h"

namespace muster::scheduler {

/// Voters a configuration may have. Five tolerate two failures; more only cost round trips. One
/// more than an odd number stands while one voter replaces another.
inline constexpr std::size_t kVotersMax = 7;
/// Hosts that receive the log without a vote: those that are about to become voters.
inline constexpr std::size_t kLearnersMax = 4;

struct Seat {
  HostId host;
  SeatId id;  ///< 0 = a founder's, or one whose directory was made before seats had ids.
  bool operator==(const Seat&) const = default;
};

/// Both lists ascend by host; a host is in one of them at most. No voters = none is known yet.
struct Configuration {
  std::vector<Seat> voters;
  std::vector<Seat> learners;
  /// So many voters are wanted: what the electorate fills up to. Raft does not look at it.
  std::size_t target = 0;
  bool operator==(const Configuration&) const = default;

  /// Null when that host is no such member.
  const Seat* voter(HostId host) const;
  const Seat* learner(HostId host) const;
  bool has_voter(const Seat& seat) const;
  std::vector<HostId> voter_hosts() const;

  // One step each; the host must (not) be there.
  Configuration with_learner(const Seat& seat) const;
  Configuration with_promoted(HostId learner) const;
  Configuration without(HostId member) const;
};

/// The first voters, each under the founders' seat id; as many are wanted ever after.
Configuration founding(const std::vector<HostId>& voters);

/// "" when `next` may follow `now`: at least one voter, within the limits, at most one voter more
/// or less, and who becomes a voter was a learner in the same seat. Else the reason, for people.
std::string why_not_next(const Configuration& now, const Configuration& next);

/// [version, [[host, seat], ...] voters, [[host, seat], ...] learners, target, ...trailing]
std::string encode(const Configuration& configuration);
/// Nothing when the bytes are none, of a newer version, out of order or beyond the limits.
std::optional<Configuration> decode_configuration(std::string_view bytes);

/// The configurations along a log: the one at its snapshot and those of the entries behind it.
class ConfigurationHistory {
 public:
  explicit ConfigurationHistory(Configuration base) : base_(std::move(base)) {}

  const Configuration& newest() const { return changes_.empty() ? base_ : changes_.back().second; }
  /// Of the newest one's entry; 0 = it is the base.
  LogIndex newest_index() const { return changes_.empty() ? LogIndex() : changes_.back().first; }
  const Configuration& at(LogIndex index) const;

  void append(LogIndex index, Configuration configuration);
  void truncate_from(LogIndex first);
  /// Everything up to `index` goes into a snapshot.
  void compact(LogIndex index);
  /// Replaced by a leader's snapshot; what lies behind `index` stays where `keep_rest`.
  void install(LogIndex index, Configuration base, bool keep_rest);

 private:
  Configuration base_;
  std::deque<std::pair<LogIndex, Configuration>> changes_;
};

}  // namespace muster::scheduler
