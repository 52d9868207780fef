#include "agent/step/row_inputs.h"

#include <string>
#include <utility>
#include <vector>

#include "crdt/rows/codec.h"

namespace muster::agent {
namespace {

std::string bytes_of(const crdt::HostStore& store, HostId host, crdt::FieldId field) {
  const crdt::Field* found = store.field(host, field);
  return found == nullptr ? std::string() : found->bytes;
}

}  // namespace

std::optional<crdt::Identity> identity_in(const crdt::HostStore& store, HostId host) {
  return crdt::decode_identity(bytes_of(store, host, crdt::FieldId::kIdentity));
}

membership::MemberChanged member_in(const crdt::HostStore& store, HostId host,
                                    const crdt::Identity& identity) {
  membership::MemberChanged member;
  member.host = host;
  if (const crdt::Field* field = store.field(host, crdt::FieldId::kIdentity)) {
    member.start = {field->version.generation, identity.start_id};
  }
  member.rack = identity.rack;
  member.left = identity.left;
  member.observers = crdt::decode_observers(bytes_of(store, host, crdt::FieldId::kObservers))
                         .value_or(std::vector<HostId>());
  return member;
}

bool are_one_member(const crdt::FieldChange& first, const crdt::FieldChange& second) {
  return first == crdt::FieldChange{second.host, crdt::FieldId::kIdentity} &&
         second.field == crdt::FieldId::kObservers;
}

std::vector<crdt::Publish> news_of(const membership::Membership::Output& output) {
  std::vector<crdt::Publish> news;
  if (output.evidence.has_value()) {
    news.push_back({crdt::FieldId::kEvidence, crdt::encode_evidence(*output.evidence),
                    !output.evidence_may_wait});
  }
  if (output.observers.has_value()) {
    news.push_back({crdt::FieldId::kObservers, crdt::encode_observers(*output.observers), true});
  }
  return news;
}

membership::EvidenceChanged evidence_in(const crdt::HostStore& store, HostId host) {
  auto claims = crdt::decode_evidence(bytes_of(store, host, crdt::FieldId::kEvidence));
  return {host, std::move(claims).value_or(std::vector<crdt::Claim>())};
}

std::optional<crdt::AuthorityView> authority_view_in(const crdt::HostStore& store, HostId host) {
  return crdt::decode_authority_view(bytes_of(store, host, crdt::FieldId::kAuthority));
}

std::optional<crdt::QuorumView> quorum_in(const crdt::HostStore& store, HostId host) {
  return crdt::decode_quorum_view(bytes_of(store, host, crdt::FieldId::kQuorum));
}

}  // namespace muster::agent
