#pragma once
// Proposals: the leader's entries that are on their way through the log. Owned by Leader. One of a
// name is enough: the same fact, seen again before its entry is applied, is not proposed until
// `propose_again` has passed. All of them are idempotent: a lost one is simply proposed again.
//
// Invariants: a name is here from its proposal until an entry of that name is applied or it counts
// as lost. A member is condemning only while a Condemn of its host is here, or was until the last
// look: a renewal acknowledged meanwhile would outlive the time that is counted from the Condemn.

#include <array>
#include <cstdint>
#include <set>

#include "gossip/base/indexed_map.h"
#include "gossip/base/time.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/reservations.h"

namespace muster::scheduler {

/// The identity of a proposal: one of a name on its way is enough. A text counts by its hash.
struct ProposalName {
  EntryKind kind{};
  std::array<std::uint64_t, 5> words{};
  auto operator<=>(const ProposalName&) const = default;
  std::uint64_t index_hash() const;
};
ProposalName proposal_name(const Entry& entry);

class Proposals {
 public:
  /// False if one of that name is on its way, and it is too early to repeat it.
  bool propose(const StepContext& step, const Entry& entry);
  /// An entry of that name was applied, also if another leader proposed it.
  void on_applied(const Entry& entry);
  /// Forgets the proposals that may be repeated by now: they no longer block the next of their
  /// name. True if there were any. Resets next_look().
  bool forget_lost(Instant now);

  /// When one of that name may be proposed; Instant::min() if it is not on its way.
  Instant free_at(const ProposalName& name) const;
  /// True while a Register of the host is on its way. It sets the quarantined GPUs: an Observe that
  /// is made before it is applied, and logged after it, would write the old ones back. While true,
  /// next_look() is no later than the moment at which that Register counts as lost.
  bool is_registering(const HostId& host);
  /// A Condemn of this member is on its way: its renewals are refused.
  bool is_condemning(const MemberKey& member) const { return condemning_.contains(member); }
  /// The earliest moment at which an entry that was asked for here may be proposed again.
  Instant next_look() const { return next_look_; }

 private:
  IndexedMap<ProposalName, Instant> again_at_;  ///< Name of an entry -> when it may be repeated.
  std::set<MemberKey> condemning_;
  Instant next_look_ = kNever;
};

}  // namespace muster::scheduler
