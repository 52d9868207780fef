#pragma once
// EpochWatch decides which quorum this host obeys. Each recovery of a quorum begins an epoch.
// EpochWatch follows the epochs that messages name, and writes a higher one to disk before the host
// obeys it. It lets messages of the obeyed quorum pass and emits alarms about others. It also
// carries out an operator's order to begin another epoch, if a majority of the voters is lost for
// good. Owned by Node.

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "agent/gang/gang_agent.h"
#include "agent/node/node_view.h"
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

/// If a majority is left, it has elected another leader within this time.
inline constexpr Duration kLeaderlessFor = std::chrono::seconds(5);
/// Another quorum of the same epoch counts as a rival if it was heard within this time.
inline constexpr Duration kRivalFor = std::chrono::seconds(60);
/// The most pairs of alarm and host that are complained about.
inline constexpr std::size_t kEpochComplaintsMax = 1024;

class EpochWatch {
 public:
  /// `id_records` is the recovered Environment::kId. `of_seat` is the epoch of the log in raft/.
  EpochWatch(const crdt::Records& id_records, const ClusterEpoch& of_seat, Rng rng, Instant now)
      : epoch_(id_records, of_seat), rng_(rng), awake_since_(now) {}

  /// The highest epoch that this host has met. Every message between agents names it.
  const ClusterEpoch& met() const { return epoch_.met(); }
  /// True if it is on disk. Before that the agent hears no leader and sends it no message.
  bool is_durable() const { return epoch_.is_durable(); }

  /// If an earlier life wrote the log for a new epoch, the host obeys that one. The seat gives up a
  /// log of an epoch that the host no longer obeys.
  void begin(Instant now, scheduler::QuorumSeat& seat, GangAgent& gang_agent, Outbox& outbox);
  /// True if the Node may handle a message with this envelope. If its sender may vote, this host
  /// meets the epoch that it names.
  bool on_received(Instant now, const gossip::Envelope& envelope, bool may_vote,
                   scheduler::QuorumSeat& seat, Outbox& outbox);
  /// Takes the view of the quorum in the row of `host`, if that host may vote.
  void on_row(Instant now, HostId host, const crdt::HostStore& store, const Roll& roll,
              scheduler::QuorumSeat& seat, Outbox& outbox);
  /// This host met an epoch, of its own recovery or of another host.
  void on_met(Instant now, const ClusterEpoch& epoch, scheduler::QuorumSeat& seat, Outbox& outbox);
  /// The epoch with this counter is durable.
  void on_persisted(Instant now, std::uint64_t counter, GangAgent& gang_agent);
  /// This process stood still until now.
  void on_paused(Instant now) { awake_since_ = now; }

  /// The facts that an operator needs before a recovery of the quorum on this host.
  RecoveryInfo recovery_info(const NodeView& node) const;
  /// Begins another epoch with this host's log. Refuses if a majority may still agree: a second
  /// quorum beside it would be worse. If there are already two quorums of one epoch, the new epoch
  /// ends both. `seat` is NodeView::seat.
  Response recover(const NodeView& node, const RecoverArgs& order, scheduler::QuorumSeat& seat);

 private:
  bool is_new_complaint(std::string_view alarm, HostId host, const ClusterEpoch& epoch);

  scheduler::ObeyedEpoch epoch_;
  /// The epoch in the last complaint, by alarm and host.
  std::map<std::pair<std::string_view, HostId>, ClusterEpoch> complained_;
  Rng rng_;                      ///< Draws the lineages of new epochs.
  Instant rival_at_ = kLongAgo;  ///< The last time at which a rival quorum was heard.
  Instant awake_since_;  ///< An order may have lain in the socket while this host was frozen.
};

}  // namespace muster::agent
