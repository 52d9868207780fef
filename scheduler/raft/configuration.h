#pragma once
// Configuration: the voters and learners of the quorum (thesis 4). A configuration is an entry of
// the log; the newest one in a log counts there at once, committed or not (4.1). One voter at a
// time comes or goes, so the majorities of two neighbouring configurations overlap.
//
// A member is a seat: a host and one life of its raft/ directory. A host that lost its disk comes
// back under another seat id. Its messages then do not count as those of the former voter, which
// may have acknowledged entries and given votes that the new disk does not hold.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/ids.h"

namespace muster::scheduler {

/// Voters of a configuration. Five tolerate two failures; more only cost round trips. The number is
/// even only while one voter replaces another.
inline constexpr std::size_t kVotersMax = 7;
/// Learners of a configuration: hosts that receive the log without a vote, to become voters.
inline constexpr std::size_t kLearnersMax = 4;

struct Seat {
  HostId host;
  SeatId id;  ///< 0 = a founder's, or one whose directory was made before seats had ids.
  bool operator==(const Seat&) const = default;
};

/// Both lists ascend by host; a host is in one of them at most. No voters: none is known yet.
struct Configuration {
  std::vector<Seat> voters;
  std::vector<Seat> learners;
  /// The number of voters that the electorate fills up to. Raft does not read it.
  std::size_t target = 0;
  bool operator==(const Configuration&) const = default;

  /// Null if the host is not such a member.
  const Seat* voter(HostId host) const;
  const Seat* learner(HostId host) const;
  bool has_voter(const Seat& seat) const;
  std::vector<HostId> voter_hosts() const;

  // One step each; the host must (not) be there.
  Configuration with_learner(const Seat& seat) const;
  Configuration with_promoted(HostId learner) const;
  Configuration without(HostId member) const;
};

/// The first voters, each under the founders' seat id. Their number is the target.
Configuration founding(const std::vector<HostId>& voters);

/// "" if `next` may follow `now`: at least one voter, within the limits, at most one voter more or
/// less, and a new voter was a learner in the same seat. Else the reason, for people.
std::string why_not_next(const Configuration& now, const Configuration& next);

/// [version, [[host, seat], ...] voters, [[host, seat], ...] learners, target, ...trailing]
std::string encode(const Configuration& configuration);
/// nullopt if the bytes are no configuration, of a newer version, out of order or above a limit.
std::optional<Configuration> decode_configuration(std::string_view bytes);

/// ConfigurationHistory: the configurations along a log: that of its snapshot and those of the
/// entries behind it. Owned by RaftLog.
class ConfigurationHistory {
 public:
  explicit ConfigurationHistory(Configuration base) : base_(std::move(base)) {}

  const Configuration& newest() const { return changes_.empty() ? base_ : changes_.back().second; }
  /// The index of the newest one's entry; 0 if the newest is the base.
  LogIndex newest_index() const { return changes_.empty() ? LogIndex() : changes_.back().first; }
  const Configuration& at(LogIndex index) const;

  void append(LogIndex index, Configuration configuration);
  void truncate_from(LogIndex first);
  /// A snapshot takes all up to `index`.
  void compact(LogIndex index);
  /// A leader's snapshot replaces the base. Changes behind `index` stay if `keep_rest`.
  void install(LogIndex index, Configuration base, bool keep_rest);

 private:
  Configuration base_;
  std::deque<std::pair<LogIndex, Configuration>> changes_;
};

}  // namespace muster::scheduler
