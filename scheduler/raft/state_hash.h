#pragma once
// Voters compare what their states came to. At indexes that all of them choose alike the
// application tells Raft a hash of its state; members report the newest with their acknowledgements
// and the leader compares. What most voters hold is the state of the cluster. A member that holds
// another one is told so and gives its seat up: see Raft::Output::gives_seat_up. Where no majority
// holds one nobody can say who is right: then nobody is made anew, and the leader raises an alarm.
//
// A member's newest word about an index counts, and of the indexes the newest that is decided: a
// state that is again what it should be needs no repair. Nothing here judges the log: a member
// whose tables are wrong still keeps its entries as it should, and its acknowledgements count.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "gossip/base/ids.h"

namespace muster::scheduler {

/// What the application's state came to with everything up to `index` applied. Only hashes of one
/// form are compared: it is raised when their making changes, and with it what states hold.
struct StateHash {
  std::uint64_t form = 0;  ///< 0 = there is none.
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
  /// True when this was news. One of another form than the last begins anew.
  bool add(const StateHash& hash);
  /// Form 0 when it is not known.
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
    StateHash agreed;  ///< Of a majority, at an index for which the member said another.
  };
  std::vector<Diverged> diverged;
  /// Voters differ there, and no majority holds one hash.
  std::optional<LogIndex> split;
};

/// `members` are all of a configuration, `form` is that of the leader's hashes.
HashFindings compare_hashes(const std::vector<HashedMember>& members, std::uint64_t form);

}  // namespace muster::scheduler
