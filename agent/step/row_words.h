#pragma once
// What a host's row says, in the words of the machines that want to hear it. Rules without fields;
// what is missing or unreadable says nothing.

#include <optional>
#include <vector>

#include "crdt/rows/host_state.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "membership/membership.h"

namespace muster::agent {

std::optional<crdt::Identity> identity_in(const crdt::HostStore& store, HostId host);
/// A member is made of its identity, which is `identity`, and its observers.
membership::MemberChanged member_in(const crdt::HostStore& store, HostId host,
                                    const crdt::Identity& identity);
/// A member is made of both its identity and its observers: once for both is enough.
bool are_one_member(const crdt::FieldChange& first, const crdt::FieldChange& second);
/// What this host's row is to say of it.
std::vector<crdt::Publish> news_of(const membership::Membership::Output& output);
membership::EvidenceChanged evidence_in(const crdt::HostStore& store, HostId host);
std::optional<crdt::QuorumView> quorum_in(const crdt::HostStore& store, HostId host);
std::optional<crdt::AuthorityView> authority_view_in(const crdt::HostStore& store, HostId host);

}  // namespace muster::agent
