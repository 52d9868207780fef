#pragma once
// StateHash: the hash of a voter's applied state, by which voters find one that differs. At indexes
// that all of them choose alike the application tells Raft the hash; members report the newest with
// their acknowledgements and the leader compares. The state of a majority is that of the cluster. A
// member with another state is told so and gives its seat up: see Raft::Output::gives_seat_up. If
// no majority holds one state, no member is replaced, and the leader raises an alarm.
//
// The newest hash of a member at an index counts, and the newest index that is decided: a state
// that is right again needs no repair. The comparison does not judge the log: a member whose tables
// are wrong still keeps its entries as it should, and its acknowledgements count.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "gossip/base/ids.h"

namespace muster::scheduler {

/// The hash of the application's state with all up to `index` applied. Only hashes of one form are
/// compared: the form rises when the contents of the state or the hash function change.
struct StateHash {
  std::uint64_t form = 0;  ///< 0 if there is no hash.
  LogIndex index;
  std::uint64_t hash = 0;
  bool operator==(const StateHash&) const = default;
};

/// Hashes kept of each member. Fewer: one that applies late is compared less often. More: each
/// comparison looks at more of them.
inline constexpr std::size_t kStateHashesKept = 8;

/// The newest hashes of one member.
class StateHashes {
 public:
  /// True if the hash was news. A hash of another form than the last replaces all.
  bool add(const StateHash& hash);
  /// Form 0 if the hash at `index` is not known.
  StateHash at(LogIndex index) const;
  StateHash newest() const { return kept_.empty() ? StateHash() : kept_.back(); }
  const std::deque<StateHash>& kept() const { return kept_; }

 private:
  std::deque<StateHash> kept_;  ///< By rising index.
};

struct HashedMember {
  HostId host;
  bool is_voter = false;
  const StateHashes* hashes = nullptr;  ///< Not null.
};

struct HashFindings {
  struct Diverged {
    HostId host;
    StateHash agreed;  ///< Of a majority, at an index at which the hash of the member differs.
  };
  std::vector<Diverged> diverged;
  /// Voters differ there, and no majority holds one hash.
  std::optional<LogIndex> split;
};

/// `members` are all of a configuration, `form` is that of the leader's hashes.
HashFindings compare_hashes(const std::vector<HashedMember>& members, std::uint64_t form);

}  // namespace muster::scheduler
