#pragma once
// Which quorum this host listens to. Each recovery of a quorum begins an epoch: this watches the
// epochs that messages name, has a higher one on disk before anything of it is obeyed, lets through
// what the quorum that is obeyed says, and complains about others. It also carries out the
// operator's word that another epoch shall begin, when a majority of the voters is lost for good.
// The Node's.

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "agent/gang/gang_agent.h"
#include "agent/node/known.h"
#include "agent/roll/roll.h"
#include "agent/step/outbox.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "gossip/wire/message.h"
#include "scheduler/seat/obeyed_epoch.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

/// A majority that is left has elected another leader by then.
inline constexpr Duration kLeaderlessFor = std::chrono::seconds(5);
/// Two quorums of one epoch are told apart from what is over by what was heard within this.
inline constexpr Duration kRivalFor = std::chrono::seconds(60);
/// Epochs of hosts that are complained about; beyond it nobody else's is.
inline constexpr std::size_t kEpochComplaintsMax = 1024;

class EpochWatch {
 public:
  /// `id_records`: Environment::kId as recovered. `of_seat`: the epoch of the log in raft/.
  EpochWatch(const crdt::Records& id_records, const ClusterEpoch& of_seat, Rng rng, Instant now)
      : epoch_(id_records, of_seat), rng_(rng), awake_since_(now) {}

  /// The highest met: said in every message between agents.
  const ClusterEpoch& met() const { return epoch_.met(); }
  /// It is on disk. Before that nothing is heard from a leader, and nothing said to one.
  bool is_durable() const { return epoch_.is_durable(); }

  /// A log that an earlier life wrote for a new epoch makes the host obey it; one of an epoch that
  /// it obeys no more is given up.
  void begin(Instant now, scheduler::QuorumSeat& seat, GangAgent& gang_agent, Outbox& outbox);
  /// Whether a message of this envelope may be carried on; what it names is met by this when its
  /// sender may vote.
  bool on_received(Instant now, const gossip::Envelope& envelope, bool may_vote,
                   scheduler::QuorumSeat& seat, Outbox& outbox);
  /// What the row of `host` says of the quorum: believed when it may vote.
  void on_row(Instant now, HostId host, const crdt::HostStore& store, const Roll& roll,
              scheduler::QuorumSeat& seat, Outbox& outbox);
  /// The epoch of a recovery on this host, or of another host.
  void on_met(Instant now, const ClusterEpoch& epoch, scheduler::QuorumSeat& seat, Outbox& outbox);
  /// The epoch of this counter is durable.
  void on_persisted(Instant now, std::uint64_t counter, GangAgent& gang_agent);
  /// This process stood still until now.
  void on_paused(Instant now) { awake_since_ = now; }

  /// What an operator must know of this host before he recovers the quorum on it.
  RecoveryInfo recovery_info(const Known& known) const;
  /// Begins another epoch with this host's log, unless a majority may still agree: a second quorum
  /// beside it would be the worse harm. Where there are two already, of one epoch, it ends both.
  /// `seat` is the one that is known.
  Response recover(const Known& known, const RecoverArgs& order, scheduler::QuorumSeat& seat);

 private:
  bool is_new_complaint(std::string_view alarm, HostId host, const ClusterEpoch& epoch);

  scheduler::ObeyedEpoch epoch_;
  /// By alarm and host, as last complained about.
  std::map<std::pair<std::string_view, HostId>, ClusterEpoch> complained_;
  Rng rng_;                      ///< For lineages.
  Instant rival_at_ = kLongAgo;  ///< When a quorum of the same epoch was heard last.
  Instant awake_since_;  ///< An order may have lain in the socket while this host was frozen.
};

}  // namespace muster::agent
