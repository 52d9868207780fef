#pragma once
// AuthorityBook knows the authority that signs the roll, and its secret on a host that may vote. It
// begins with the authority under which this host joined. Later ones follow it link by link. Owned
// by RollKeeper.
//
// Invariants: the number never falls. The secret is "", or belongs to the key beside it.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/step/node_interface.h"
#include "agent/step/outbox.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/signing.h"
#include "gossip/wire/authority_link.h"
#include "scheduler/state/roll_book.h"

namespace muster::agent {

/// The record in id/ of an authority, once it has replaced the one under which this host joined.
struct AuthorityRecord {
  gossip::Authority authority;
  std::string secret;                        ///< "" = this host does not have it.
  std::vector<gossip::AuthorityLink> links;  ///< Up to `authority`, the newest last.
};
/// The record in `id_records` or the authority of `credentials`, whichever is newer.
AuthorityRecord authority_in(const crdt::Records& id_records, HostId self,
                             const Credentials& credentials);

class AuthorityBook {
 public:
  AuthorityBook(HostId self, const Credentials& credentials, const crdt::Records& id_records);

  const gossip::Authority& authority() const { return record_.authority; }
  std::uint64_t number() const { return record_.authority.number; }
  const std::vector<gossip::AuthorityLink>& links() const { return record_.links; }
  /// nullptr on a host that does not have the secret.
  const gossip::Signer* signer() const { return signer_.get(); }
  /// "" if signer() is nullptr.
  const std::string& secret() const { return record_.secret; }

  /// Follows links that are proven to a later authority. True if there were any.
  bool learn(const std::vector<gossip::AuthorityLink>& links, Outbox& outbox);
  /// Takes the secret from the box that is sealed to this host, unless it has the secret.
  void open(const std::vector<std::pair<HostId, std::string>>& sealed, Outbox& outbox);

 private:
  void write(Outbox& outbox) const;

  HostId self_;
  std::shared_ptr<const gossip::Signer> own_;
  std::shared_ptr<const gossip::Verifier> verifier_;
  std::shared_ptr<const gossip::KeyMaker> maker_;
  AuthorityRecord record_;
  std::shared_ptr<const gossip::Signer> signer_;
};

/// The lowest authority whose records count, as the log has it: the log's newest authority once it
/// or a later one has signed all records that count, otherwise `before`.
std::uint64_t whole_authority(const scheduler::RollBook& book, std::uint64_t before);

}  // namespace muster::agent
