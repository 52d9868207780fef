#include "scheduler/protocol/roll_entries.h"

#include "gossip/base/signing.h"
#include "scheduler/protocol/codec.h"

namespace muster::scheduler {

void write(gossip::Encoder& out, const entry::MakeTicket& fact) {
  out.bytes(fact.key).u64(fact.uses).duration(fact.ttl).boolean(fact.may_vote);
  out.boolean(fact.may_vouch).text(fact.host_name);
  write(out, fact.by);
  out.id(fact.made_at);
}

entry::MakeTicket read_make_ticket(gossip::Reader& in) {
  entry::MakeTicket fact;
  fact.key = in.text(gossip::kPublicKeyBytesMax);
  fact.uses = in.u64();
  fact.ttl = in.duration();
  fact.may_vote = in.boolean();
  fact.may_vouch = in.boolean();
  fact.host_name = in.text(kTicketNameBytesMax);
  fact.by = read_subject(in);
  fact.made_at = in.id<HostId>();
  return fact;
}

void write(gossip::Encoder& out, const entry::EndTicket& fact) {
  out.bytes(fact.key);
  write(out, fact.by);
}

entry::EndTicket read_end_ticket(gossip::Reader& in) {
  entry::EndTicket fact;
  fact.key = in.text(gossip::kPublicKeyBytesMax);
  fact.by = read_subject(in);
  return fact;
}

void write(gossip::Encoder& out, const entry::Enrol& fact) {
  out.id(fact.host).u64(fact.authority).u64(fact.edition).bytes(fact.record);
  out.bytes(fact.signature).bytes(fact.ticket).text(fact.host_name);
  out.boolean(fact.is_revoked);
  write(out, fact.by);
  out.boolean(fact.may_vouch);
}

entry::Enrol read_enrol(gossip::Reader& in) {
  entry::Enrol fact;
  fact.host = in.id<HostId>();
  fact.authority = in.u64();
  fact.edition = in.u64();
  fact.record = in.text(kRollRecordBytesMax);
  fact.signature = in.text(gossip::kSignatureBytes);
  fact.ticket = in.text(gossip::kPublicKeyBytesMax);
  fact.host_name = in.text(kTicketNameBytesMax);
  fact.is_revoked = in.boolean();
  fact.by = read_subject(in);
  fact.may_vouch = in.boolean();
  return fact;
}

void write(gossip::Encoder& out, const entry::RotateKeys& fact) {
  out.u64(fact.round);
  write(out, fact.by);
}

entry::RotateKeys read_rotate_keys(gossip::Reader& in) {
  entry::RotateKeys fact;
  fact.round = in.u64();
  fact.by = read_subject(in);
  return fact;
}

void write_sealed(gossip::Encoder& out, const std::vector<std::pair<HostId, std::string>>& sealed) {
  out.array(sealed.size());
  for (const auto& [host, box] : sealed) {
    out.array(2).id(host).bytes(box);
  }
}

std::vector<std::pair<HostId, std::string>> read_sealed(gossip::Reader& in) {
  std::vector<std::pair<HostId, std::string>> sealed;
  gossip::Reader list = in.array_at_most(kSealedMax);
  while (list.ok() && list.left() > 0) {
    gossip::Reader pair = list.array();
    const HostId host = pair.id<HostId>();
    sealed.emplace_back(host, pair.text(kSealedBytesMax));
  }
  return sealed;
}

void write(gossip::Encoder& out, const entry::ReplaceAuthority& fact) {
  out.u64(fact.number).bytes(fact.key).bytes(fact.signature);
  write_sealed(out, fact.sealed);
  write(out, fact.by);
}

entry::ReplaceAuthority read_replace_authority(gossip::Reader& in) {
  entry::ReplaceAuthority fact;
  fact.number = in.u64();
  fact.key = in.text(gossip::kPublicKeyBytesMax);
  fact.signature = in.text(gossip::kSignatureBytes);
  fact.sealed = read_sealed(in);
  fact.by = read_subject(in);
  return fact;
}

}  // namespace muster::scheduler
