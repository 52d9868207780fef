#pragma once
// Translates the row of a host into the inputs of the machines that use it. Rules without fields.
// A field that is missing or not readable counts as absent.

#include <optional>
#include <vector>

#include "crdt/rows/host_state.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "membership/membership.h"

namespace muster::agent {

std::optional<crdt::Identity> identity_in(const crdt::HostStore& store, HostId host);
/// The member with this identity and the observers of its row.
membership::MemberChanged member_in(const crdt::HostStore& store, HostId host,
                                    const crdt::Identity& identity);
/// True if both changes belong to one MemberChanged: it holds the identity and the observers.
bool are_one_member(const crdt::FieldChange& first, const crdt::FieldChange& second);
/// The fields of this host's row that follow from `output`.
std::vector<crdt::Publish> news_of(const membership::Membership::Output& output);
membership::EvidenceChanged evidence_in(const crdt::HostStore& store, HostId host);
std::optional<crdt::QuorumView> quorum_in(const crdt::HostStore& store, HostId host);
std::optional<crdt::AuthorityView> authority_view_in(const crdt::HostStore& store, HostId host);

}  // namespace muster::agent
