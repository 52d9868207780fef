#pragma once
// The membership of this host as it is kept in id/: the cluster authority, its own record of the
// roll, the hosts to speak to first, and its link key. With it a host that lost everything else is
// still a member.

#include <optional>
#include <string>
#include <vector>

#include "agent/api/enrolment.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/result.h"
#include "gossip/edge/link_keys.h"

namespace muster::agent {

struct MembershipRecord {
  std::string link_seed;       ///< Of this host's link keys.
  ClusterId cluster;           ///< Zero: it is about to be founded. Kept as kClusterKey.
  std::string authority;       ///< Public key of the cluster authority.
  std::string authority_seed;  ///< Of its secret; "" = this host does not vote.
  /// How it followed others.
  std::vector<gossip::AuthorityLink> authority_links{};
  Contact own;  ///< Its own record; no address.
  std::vector<Contact> contacts;
  std::uint64_t founders = 0;   ///< Not 0: this host founds a cluster of so many.
  std::string founding_ticket;  ///< Key of the ticket that the others come with.
  std::string first_admin{};    ///< The login that founded the cluster; "" = it was founded before.
  std::string first_admin_key{};  ///< FoundArgs::admin_key
  bool operator==(const MembershipRecord&) const = default;
};

/// kCorrupt: there is one that does not decode. nullopt if this host is no member yet.
Result<std::optional<MembershipRecord>> membership_in(const crdt::Records& id_records);
crdt::WriteBatch writes_of(const MembershipRecord& record);

}  // namespace muster::agent
