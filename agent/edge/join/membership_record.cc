#include "agent/edge/join/membership_record.h"

#include "agent/api/payload.h"
#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

/// In Environment::kId.
constexpr std::string_view kMembershipKey = "membership";
constexpr std::uint64_t kVersion = 2;

}  // namespace

Result<std::optional<MembershipRecord>> membership_in(const crdt::Records& id_records) {
  const auto found = id_records.find(std::string(kMembershipKey));
  if (found == id_records.end()) {
    return std::optional<MembershipRecord>();
  }
  const Error damaged{ErrorCode::kCorrupt,
                      "the record of this host's membership is damaged: move id/ aside and join "
                      "with a new ticket"};
  Result<gossip::Document> document = gossip::Document::parse(found->second);
  if (!document) {
    return damaged;
  }
  gossip::Reader in = document->root();
  MembershipRecord record;
  const bool is_known = in.u64() == kVersion;
  record.link_seed = in.text();
  record.authority = in.text();
  record.authority_seed = in.text();
  auto info = decode_payload<JoinInfo>(in.text(gossip::kMessageBytesMax));
  record.founders = in.u64();
  record.founding_ticket = in.text();
  record.first_admin = in.text();
  record.first_admin_key = in.left() > 0 ? in.text() : "";
  if (!in.ok() || !is_known || !info.has_value() ||
      record.link_seed.size() != gossip::kLinkSeedBytes) {
    return damaged;
  }
  record.authority_links = std::move(info->authority_links);
  record.own = std::move(info->own);
  record.contacts = std::move(info->contacts);
  return std::optional(std::move(record));
}

crdt::WriteBatch writes_of(const MembershipRecord& record) {
  JoinInfo info;
  info.authority_links = record.authority_links;
  info.own = record.own;
  info.contacts = record.contacts;
  gossip::Encoder out;
  out.array(9).u64(kVersion).bytes(record.link_seed).bytes(record.authority);
  out.bytes(record.authority_seed).bytes(encode_payload(info)).u64(record.founders);
  out.bytes(record.founding_ticket).text(record.first_admin).text(record.first_admin_key);
  return {{std::string(kMembershipKey), out.take()}};
}

}  // namespace muster::agent
