#pragma once
// Which authority signs the roll, as this host knows it, and its secret on hosts that may vote. It
// begins with the one that this host joined under; later ones follow it link by link.
//
// Invariants: the number never falls; a secret is that of the key beside it, or there is none.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/step/outbox.h"
#include "agent/step/words.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/signing.h"
#include "gossip/wire/authority_link.h"
#include "scheduler/state/roll_book.h"

namespace muster::agent {

/// What id/ keeps of it, once the authority that this host joined under was replaced.
struct AuthorityRecord {
  gossip::Authority authority;
  std::string secret;                        ///< "" = this host has none.
  std::vector<gossip::AuthorityLink> links;  ///< Up to `authority`, the newest last.
};
/// That of `id_records`, or that which `credentials` joined under.
AuthorityRecord authority_in(const crdt::Records& id_records, HostId self,
                             const Credentials& credentials);

class AuthorityBook {
 public:
  AuthorityBook(HostId self, const Credentials& credentials, const crdt::Records& id_records);

  const gossip::Authority& authority() const { return record_.authority; }
  std::uint64_t number() const { return record_.authority.number; }
  const std::vector<gossip::AuthorityLink>& links() const { return record_.links; }
  /// Null on hosts that have no secret of it.
  const gossip::Signer* signer() const { return signer_.get(); }
  /// "" where signer() is null.
  const std::string& secret() const { return record_.secret; }

  /// Goes on along links that are proven. True when there were any.
  bool learn(const std::vector<gossip::AuthorityLink>& links, Outbox& outbox);
  /// Takes the secret out of what is sealed to this host, unless it has it.
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

/// From which authority on records count, as the log has it: its number once all records that count
/// are of it or a later one, else `before`.
std::uint64_t whole_authority(const scheduler::RollBook& book, std::uint64_t before);

}  // namespace muster::agent
