#include "agent/roll/link_record.h"

#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

constexpr std::uint64_t kLinkRecordVersion = 1;

}  // namespace

crdt::WriteBatch writes_of(const LinkRecord& record) {
  gossip::Encoder out;
  out.array(7).u64(kLinkRecordVersion).bytes(record.base).u64(record.serial).bytes(record.seed);
  out.bytes(record.next_seed).bytes(record.previous_seed).u64(record.round);
  return {{std::string(kLinkRecord), out.take()}};
}

std::optional<LinkRecord> link_record_in(const crdt::Records& id_records) {
  const auto found = id_records.find(std::string(kLinkRecord));
  if (found == id_records.end()) {
    return std::nullopt;
  }
  Result<gossip::Document> document = gossip::Document::parse(found->second);
  if (!document) {
    return LinkRecord();
  }
  gossip::Reader in = document->root();
  LinkRecord record;
  const bool is_known = in.u64() == kLinkRecordVersion;
  record.base = in.text();
  record.serial = in.u64();
  record.seed = in.text();
  record.next_seed = in.text();
  record.previous_seed = in.text();
  record.round = in.u64();
  return in.ok() && is_known ? record : LinkRecord();
}

}  // namespace muster::agent
