#include "scheduler/state/roll_snapshot.h"

namespace muster::scheduler {

void write_enrolled(gossip::Encoder& out, HostId id, const EnrolledHost& host) {
  out.id(id).u64(host.authority).u64(host.edition).bytes(host.record).bytes(host.signature);
  out.boolean(host.may_vouch);
}

EnrolledHost read_enrolled(gossip::Reader& in) {
  EnrolledHost host;
  host.authority = in.u64();
  host.edition = in.u64();
  host.record = in.text(kRollRecordBytesMax);
  host.signature = in.text();
  host.may_vouch = in.boolean();
  return host;
}

void write_ticket(gossip::Encoder& out, const std::string& key, const Ticket& ticket) {
  out.bytes(key).u64(ticket.uses).duration(ticket.ends_at).boolean(ticket.may_vote);
  out.boolean(ticket.may_vouch).text(ticket.host_name).text(ticket.by).i64(ticket.unix_ms);
  out.text(ticket.ended_by).array(ticket.used_by.size());
  for (const HostId host : ticket.used_by) {
    out.id(host);
  }
  out.id(ticket.made_at);
}

Ticket read_ticket(gossip::Reader& in) {
  Ticket ticket;
  ticket.uses = in.u64();
  ticket.ends_at = in.duration();
  ticket.may_vote = in.boolean();
  ticket.may_vouch = in.boolean();
  ticket.host_name = in.text();
  ticket.by = in.text();
  ticket.unix_ms = in.i64();
  ticket.ended_by = in.text();
  gossip::Reader hosts = in.array();
  while (hosts.ok() && hosts.left() > 0) {
    ticket.used_by.insert(hosts.id<HostId>());
  }
  ticket.made_at = in.id<HostId>();
  return ticket;
}

void write_roll_keys(gossip::Encoder& out, const RollKeys& keys) {
  out.u64(keys.round).duration(keys.round_at);
  write(out, keys.links);
  write_sealed(out, keys.sealed);
}

RollKeys read_roll_keys(gossip::Reader& in) {
  RollKeys keys;
  keys.round = in.u64();
  keys.round_at = in.duration();
  keys.links = gossip::read_authority_links(in);
  keys.sealed = read_sealed(in);
  return keys;
}

}  // namespace muster::scheduler
