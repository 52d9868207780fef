#pragma once
// Founding enrols the founders of a cluster before it has a quorum. The host that founds it is the
// authority and signs the records of the hosts that bring the founding ticket. Once it has recorded
// the wanted number, the ticket admits no other host. The ticket ends when the quorum is formed.
// Owned by MessageGate.
//
// Invariant: it records no more founders than wanted. A record reaches the disk soon after it is
// told. A host that loses power in between may record one founder more. Even then two first quorums
// cannot form, since sets of three among four share a member (first_quorum.h).

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/api/enrolment.h"
#include "agent/roll/roll.h"
#include "agent/step/node_interface.h"
#include "agent/step/outbox.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"

namespace muster::agent {

class Founding {
 public:
  /// `id_records` (kId) holds the founders that were recorded before.
  Founding(const Credentials& credentials, const crdt::Records& id_records);

  /// Records of founders to spread at the start.
  const std::vector<std::pair<HostId, crdt::Field>>& recorded() const { return recorded_; }
  /// The transport admits the ticket, or does so no more.
  void open(Outbox& outbox) const;
  void close(Outbox& outbox);
  /// True until this host has a cluster.
  bool is_open() const { return !ticket_.empty(); }

  /// Records the host as a founder, once. An error is a sentence for the newcomer.
  Result<crdt::Field> record(Instant now, const JoinArgs& join, const Roll& roll,
                             crdt::HostStore& store, Outbox& outbox);

 private:
  std::string ticket_;  ///< "" = this host founds no cluster, or founds it alone, or has done so.
  std::uint64_t founders_ = 0;
  std::shared_ptr<const gossip::Signer> authority_;
  std::shared_ptr<const gossip::Verifier> verifier_;
  std::vector<std::pair<HostId, crdt::Field>> recorded_;
};

/// The host whose identity key signed `join`; nullopt if the signature is not valid.
std::optional<HostId> proven_joiner(const JoinArgs& join, const gossip::Verifier& verifier);

}  // namespace muster::agent
