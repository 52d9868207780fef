#pragma once
// DirectoryCopy is the list of users, teams, rules and access tokens on a host that does not hold
// the log. The
// leader's row names the version of the list; if it is another one, the copy asks a voter for all
// pages, and keeps the list on the disk. With it the host judges its users while it is cut off.
// Owned by LeaderContact.
//
// A token ends by cluster time, which such a host does not hear: it adds the time since a voter
// told it. Therefore a token may end here a little early, if the cluster was without a leader, and
// never late. The time that a restart takes is not known; so tokens are not kept on the disk, and a
// host that starts while it is cut off takes none.
//
// Invariants: the list is whole: pages of two versions never mix. The version may fall, because a
// recovered quorum may have lost the last changes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/users.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "scheduler/access/directory.h"

namespace muster::agent {

class DirectoryCopy {
 public:
  /// A voter that does not answer within this time is given up, and another one is asked.
  static constexpr Duration kPatience = std::chrono::seconds(2);
  /// Hosts ask at a random moment, at most this long after the news for each host of the cluster:
  /// 10,000 hosts do not ask at once.
  static constexpr Duration kSpreadPerHost = std::chrono::milliseconds(1);
  /// 20,000 users are 40 pages, more if users are in many teams, and 4,096 tokens are 9. A list of
  /// more pages, or of more than scheduler::kUsersMax users or kTokensMax tokens, is given up: no
  /// cluster has it.
  static constexpr std::size_t kPagesMax = 1'000;

  /// `state` is the environment kState at the start.
  DirectoryCopy(const crdt::Records& state, Rng rng);

  /// Not founded if this host never had a list.
  const scheduler::Directory& directory() const { return directory_; }
  /// Time since a row of the leader last named the version of the copy; nullopt = never since the
  /// start.
  std::optional<Duration> age(Instant now) const;
  /// The latest that the cluster time can be, for the tokens of the copy.
  Duration cluster_time(Instant now) const { return told_time_ + (now - told_at_); }

  /// The leader's row names this version; 0 = none.
  void hear(Instant now, std::uint64_t version, std::size_t hosts);
  Instant next_deadline() const { return ask_at_; }
  struct Ask {
    HostId to;
    UsersQuery query;
  };
  /// The question that is due. nullopt if none of `voters`, which this host reaches, is left.
  std::optional<Ask> tick(Instant now, const std::vector<HostId>& voters);
  /// A page of `from`. nullopt: it was not asked for, or more pages are to come. Else the writes
  /// that keep the whole list.
  std::optional<crdt::WriteBatch> on_page(Instant now, HostId from, UserList page);

 private:
  void restart(Instant at);
  UsersQuery next_query() const;

  Rng rng_;
  scheduler::Directory directory_;
  std::uint64_t wanted_ = 0;  ///< The version that the leader's row names.
  Instant confirmed_at_ = kLongAgo;
  Instant ask_at_ = kNever;
  HostId asked_;
  UserList pages_;  ///< The pages that have come, as one list.
  std::size_t pages_count_ = 0;
  bool is_next_page_due_ = false;
  bool lacks_tokens_ = false;  ///< The list is one of the disk, and the cluster had tokens.
  Duration told_time_{0};      ///< Cluster time ...
  Instant told_at_{};          ///< ... when a voter told it with the copy.
};

/// The directory that a whole list describes; nullopt if a role is unknown.
std::optional<scheduler::Directory> directory_of(const UserList& list);

}  // namespace muster::agent
