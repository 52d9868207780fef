#pragma once
// The days before a cluster has a quorum: the host that founds it is the authority, and signs the
// records of the others that came with the founding ticket. Once as many are known as were wished
// the ticket lets nobody else in, and when the quorum is formed it is dead.
//
// Invariant: no more founders are recorded than were wished. Records are on disk soon after they
// are told; a host that loses power in between may record one more, and two first quorums cannot
// form all the same, since sets of three among four share a member (first_quorum.h).

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/api/enrolment.h"
#include "agent/roll/roll.h"
#include "agent/step/outbox.h"
#include "agent/step/words.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"

namespace muster::agent {

class Founding {
 public:
  /// `id_records`: of kId, for the founders that were recorded before.
  Founding(const Credentials& credentials, const crdt::Records& id_records);

  /// Founders' records to spread at the start.
  const std::vector<std::pair<HostId, crdt::Field>>& recorded() const { return recorded_; }
  /// The ticket lets in, or does so no more.
  void open(Outbox& outbox) const;
  void close(Outbox& outbox);
  /// It goes on: no quorum was formed yet.
  bool is_open() const { return !ticket_.empty(); }

  /// Records the host as a founder, once. What is wrong is said to the newcomer.
  Result<crdt::Field> record(Instant now, const JoinArgs& join, const Roll& roll,
                             crdt::HostStore& store, Outbox& outbox);

 private:
  std::string ticket_;  ///< "" = this host is no authority of a cluster to come.
  std::uint64_t founders_ = 0;
  std::shared_ptr<const gossip::Signer> authority_;
  std::shared_ptr<const gossip::Verifier> verifier_;
  std::vector<std::pair<HostId, crdt::Field>> recorded_;
};

/// The host whose identity signed this; nothing when it did not.
std::optional<HostId> proven_joiner(const JoinArgs& join, const gossip::Verifier& verifier);

}  // namespace muster::agent
