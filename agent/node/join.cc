#include "agent/node/join.h"

#include <algorithm>
#include <utility>

#include "agent/api/verbs.h"
#include "agent/node/request_target.h"
#include "agent/node/roll_upkeep.h"
#include "agent/node/vouching.h"
#include "agent/roll/founding.h"
#include "agent/roll/host_directory.h"
#include "agent/roll/message_gate.h"
#include "crdt/rows/roll.h"
#include "gossip/base/check.h"
#include "gossip/base/name.h"

namespace muster::agent {
namespace {

void write_record(Contact& contact, HostId host, const crdt::Field& field) {
  contact.host = host;
  contact.authority = field.version.generation.value();
  contact.edition = field.version.sequence.value();
  contact.record = field.bytes;
  contact.signature = field.proof;
}

Error no_authority(const NodeView& node) {
  return {
      ErrorCode::kUnavailable,
      "host " + node.options.name + " leads but lacks the authority's secret: see `muster keys`"};
}

/// Contact::link_row.
std::string link_row(const crdt::HostStore& store, HostId host) {
  const crdt::Field* link = store.field(host, crdt::FieldId::kLink);
  if (link == nullptr) {
    return "";
  }
  crdt::Row row;
  row.fields.emplace(static_cast<std::uint32_t>(crdt::FieldId::kLink), *link);
  return crdt::encode_row(row);
}

/// The reason that the name is taken: a host in the log has it, or a live one that has not yet
/// registered. "" = the name is free.
std::string why_name_taken(const NodeView& node, const std::string& name, HostId host) {
  if (const scheduler::HostRecord* bearer = node.seat.state().bearer(name, host)) {
    return scheduler::why_taken(*bearer);
  }
  const HostId other = host_named(node, name);
  const bool is_taken = !other.is_zero() && other != host && is_reachable(node.membership, other);
  return is_taken ? "the name " + name + " belongs to host " + other.short_hex() +
                        ": choose another one (--name)"
                  : "";
}

/// The entry that enrols the newcomer.
Result<scheduler::entry::Enrol> enrolment_of(const NodeView& node, const JoinArgs& join) {
  if (node.authority.signer() == nullptr) {
    return no_authority(node);
  }
  const auto host = proven_joiner(join, *node.options.credentials.verifier);
  const scheduler::RollBook& book = node.seat.state().roll();
  const scheduler::Ticket* ticket = book.ticket(join.ticket);
  if (!host.has_value() || ticket == nullptr) {
    return Error{ErrorCode::kInvalid,
                 host.has_value()
                     ? "there is no such ticket here: make a new one with `muster ticket`"
                     : "the host does not prove its identity"};
  }
  const std::string why = ticket->why_not(node.seat.state().cluster_time());
  if (!why.empty() && !ticket->used_by.contains(*host)) {
    return Error{ErrorCode::kConflict, why};
  }
  if (node.roll.is_taken(join.link_key, *host) || book.ticket(join.link_key)) {
    return Error{ErrorCode::kConflict,
                 "another host has the newcomer's link key: start the newcomer again"};
  }
  if (std::string taken = why_name_taken(node, join.name, *host); !taken.empty()) {
    return Error{ErrorCode::kConflict, std::move(taken)};
  }
  crdt::RollRecord record;
  record.key_round = book.keys().round;
  const scheduler::EnrolledHost* before = book.find(*host);
  if (before != nullptr) {
    record = crdt::decode_roll(before->record).value_or(record);
  }
  if (record.revoked) {
    return Error{ErrorCode::kConflict,
                 "this host was revoked: move its data directory away, and it joins as a new host"};
  }
  const crdt::RollRecord known_before = record;
  record.identity_key = join.identity_key;
  record.link_key = join.link_key;
  record.may_vote = record.may_vote || ticket->may_vote;
  record.may_vouch = record.may_vouch || ticket->may_vouch;
  scheduler::entry::Enrol entry = changed_record(node, *host, record);
  if (record == known_before && before->authority == entry.authority) {
    entry.edition = before->edition;  // The first answer was lost: log the same record again.
    entry.record = before->record;
    entry.signature = before->signature;
    entry.may_vouch = before->may_vouch;
  }
  entry.ticket = join.ticket;
  entry.host_name = join.name;
  return entry;
}

/// The entry with the present record of an enrolled host.
scheduler::entry::Enrol said_again(const NodeView& node, HostId host) {
  const scheduler::EnrolledHost& before = *node.seat.state().roll().find(host);
  scheduler::entry::Enrol entry;
  entry.host = host;
  entry.authority = before.authority;
  entry.edition = before.edition;
  entry.record = before.record;
  entry.signature = before.signature;
  entry.may_vouch = before.may_vouch;
  entry.host_name = node.hosts.addresses().name(host).substr(0, scheduler::kTicketNameBytesMax);
  return entry;
}

/// The entry that revokes that host.
Result<RollChange> revocation_of(const NodeView& node, HostId host, scheduler::Subject by) {
  const scheduler::EnrolledHost* before = node.seat.state().roll().find(host);
  if (before == nullptr) {
    return Error{ErrorCode::kNotFound, "there is no such member: see `muster hosts`"};
  }
  if (host == node.options.self) {
    return Error{ErrorCode::kConflict,
                 "host " + node.options.name +
                     " leads: hand the leadership over first, with `muster quorum transfer`"};
  }
  if (node.authority.signer() == nullptr) {
    return no_authority(node);
  }
  crdt::RollRecord record = crdt::decode_roll(before->record).value_or(crdt::RollRecord());
  if (record.may_vouch && !record.revoked && !is_another_to_vouch(node, host)) {
    return Error{ErrorCode::kConflict,
                 "host " + node.hosts.addresses().name(host) +
                     " is the last host that may vouch for its logins: allow another host first "
                     "(muster hosts set NAME --may-vouch yes)"};
  }
  const bool was_revoked = std::exchange(record.revoked, true);
  scheduler::entry::Enrol entry =
      was_revoked ? said_again(node, host) : changed_record(node, host, record);
  entry.is_revoked = true;
  entry.by = std::move(by);
  return RollChange{RollOrder(std::move(entry)), host};
}

/// The entry that changes the rights of a host.
Result<RollChange> rights_of(const NodeView& node, const SetHostArgs& wish, scheduler::Subject by) {
  const scheduler::EnrolledHost* before = node.seat.state().roll().find(wish.host);
  crdt::RollRecord record;
  if (before != nullptr) {
    record = crdt::decode_roll(before->record).value_or(record);
  }
  if (before == nullptr || record.revoked) {
    return Error{ErrorCode::kNotFound, "there is no such member: see `muster hosts`"};
  }
  const std::string name = node.hosts.addresses().name(wish.host);
  if (wish.may_vouch == Wish::kNo && !is_another_to_vouch(node, wish.host)) {
    return Error{ErrorCode::kConflict,
                 "host " + name +
                     " is the last host that may vouch for its logins: allow another host first "
                     "(muster hosts set NAME --may-vouch yes), or nobody can submit or administer"};
  }
  if (wish.may_vote == Wish::kNo && !is_another_to_vote(node, wish.host)) {
    return Error{ErrorCode::kConflict, "host " + name +
                                           " is the last host that may vote: allow another host "
                                           "first (muster hosts set NAME --may-vote yes)"};
  }
  if (wish.may_vote == Wish::kNo && wish.host == node.options.self) {
    return Error{
        ErrorCode::kConflict,
        "host " + name + " leads: hand the leadership over first, with `muster quorum transfer`"};
  }
  if (node.authority.signer() == nullptr) {
    return no_authority(node);
  }
  const crdt::RollRecord known_before = record;
  record.may_vouch =
      wish.may_vouch == Wish::kAsItIs ? record.may_vouch : wish.may_vouch == Wish::kYes;
  record.may_vote = wish.may_vote == Wish::kAsItIs ? record.may_vote : wish.may_vote == Wish::kYes;
  if (record.may_vote != known_before.may_vote) {
    record.vote_set_under = node.authority.number();
  }
  scheduler::entry::Enrol entry = record == known_before ? said_again(node, wish.host)
                                                         : changed_record(node, wish.host, record);
  entry.by = std::move(by);
  return RollChange{RollOrder(std::move(entry)), wish.may_vote == Wish::kNo ? wish.host : HostId()};
}

/// The entry that changes the key of one host, of all hosts, or of the authority.
Result<RollOrder> rotation_of(const NodeView& node, const RotateArgs& args, scheduler::Subject by) {
  if (args.is_authority) {
    auto next = next_authority(node, std::move(by));
    return next ? Result<RollOrder>(*std::move(next)) : Result<RollOrder>(next.error());
  }
  if (args.host.is_zero()) {
    return RollOrder(next_round(node, std::move(by)));
  }
  const scheduler::EnrolledHost* before = node.seat.state().roll().find(args.host);
  crdt::RollRecord record;
  if (before != nullptr) {
    record = crdt::decode_roll(before->record).value_or(record);
  }
  if (before == nullptr || record.revoked) {
    return Error{ErrorCode::kNotFound, "there is no such member: see `muster hosts`"};
  }
  if (node.authority.signer() == nullptr) {
    return no_authority(node);
  }
  ++record.key_round;
  scheduler::entry::Enrol entry = changed_record(node, args.host, record);
  entry.by = std::move(by);
  return RollOrder(std::move(entry));
}

template <class T>
Result<RollChange> as_change(Result<T> entry) {
  return entry ? Result<RollChange>(RollChange{RollOrder(*std::move(entry))})
               : Result<RollChange>(entry.error());
}

template <class T>
T arguments_in(const Request& request) {
  return decode_payload<T>(request.arguments).value_or(T());
}

Result<RollChange> join_change(const NodeView& node, const Request& request, scheduler::Subject) {
  return as_change(enrolment_of(node, arguments_in<JoinArgs>(request)));
}

Result<RollChange> revoke_change(const NodeView& node, const Request& request,
                                 scheduler::Subject by) {
  return revocation_of(node, host_of(request), std::move(by));
}

Result<RollChange> set_change(const NodeView& node, const Request& request, scheduler::Subject by) {
  return rights_of(node, arguments_in<SetHostArgs>(request), std::move(by));
}

Result<RollChange> rotate_change(const NodeView& node, const Request& request,
                                 scheduler::Subject by) {
  return as_change(rotation_of(node, arguments_in<RotateArgs>(request), std::move(by)));
}

struct RollRow {
  Verb verb{};
  Result<RollChange> (*make)(const NodeView& node, const Request& request,
                             scheduler::Subject by) = nullptr;
};
constexpr RollRow kRollChanges[] = {
    {Verb::kJoin, join_change},
    {Verb::kRevokeHost, revoke_change},
    {Verb::kSetHost, set_change},
    {Verb::kRotateKeys, rotate_change},
};
static_assert(has_row_for_those(kRollChanges, &RollRow::verb,
                                [](Verb verb) { return is(verb, Becomes::kRollChange); }));

}  // namespace

Status check(const JoinArgs& join) {
  if (Status name = check_word_name(join.name, "host"); !name) {
    return name;
  }
  const bool is_good = join.link_key.size() == gossip::kLinkKeyBytes &&
                       !join.identity_key.empty() &&
                       join.identity_key.size() <= gossip::kPublicKeyBytesMax;
  return is_good ? ok()
                 : Status(Error{ErrorCode::kInvalid, "a key of the newcomer has the wrong size"});
}

Result<RollChange> change_of_roll(const NodeView& node, const Request& request,
                                  scheduler::Subject by) {
  const RollRow* row = find_row(kRollChanges, &RollRow::verb, request.verb);
  CHECK(row != nullptr);
  return row->make(node, request, std::move(by));
}

JoinInfo join_info(const NodeView& node, HostId host, const crdt::Field& own) {
  const AuthorityBook& authority = node.authority;
  JoinInfo info;
  info.cluster = node.cluster;
  info.authority = authority.authority().key;
  info.authority_links = authority.links();
  write_record(info.own, host, own);
  info.contacts = contacts(node);
  for (Contact& contact : info.contacts) {
    contact.link_row = contact.host == host ? "" : link_row(node.store, contact.host);
  }
  const auto record = crdt::decode_roll(own.bytes);
  if (node.cluster.is_zero()) {
    info.first_admin = node.options.credentials.first_admin;
    info.first_admin_key = node.options.credentials.first_admin_key;
  }
  if (record.has_value() && record->may_vote) {
    info.authority_secret = authority.secret();
  }
  return info;
}

JoinInfo join_info(const NodeView& node, const JoinArgs& join) {
  const HostId host = node.options.credentials.verifier->host_of(join.identity_key);
  crdt::Field field;
  if (const scheduler::EnrolledHost* enrolled = node.seat.state().roll().find(host)) {
    field = {{Generation(enrolled->authority), Sequence(enrolled->edition)},
             enrolled->record,
             enrolled->signature};
  }
  return join_info(node, host, field);
}

namespace {

std::string told_of_join(const NodeView& node, const Request& request) {
  return encode_payload(join_info(node, arguments_in<JoinArgs>(request)));
}

std::string told_of_ticket(const NodeView& node, const Request&) {
  return encode_payload(TicketMade{node.authority.authority().key, contacts(node)});
}

struct DoneRow {
  Verb verb{};
  std::string (*payload)(const NodeView& node, const Request& request) = nullptr;
};
/// Answers to other verbs have no payload.
constexpr DoneRow kTold[] = {
    {Verb::kJoin, told_of_join},
    {Verb::kMakeTicket, told_of_ticket},
};

}  // namespace

std::string payload_of_done(const NodeView& node, const Request& request) {
  const DoneRow* row = find_row(kTold, &DoneRow::verb, request.verb);
  return row == nullptr ? "" : row->payload(node, request);
}

std::vector<Contact> contacts(const NodeView& node) {
  std::vector<HostId> hosts = node.seat.known_quorum().voters;
  if (std::find(hosts.begin(), hosts.end(), node.options.self) == hosts.end()) {
    hosts.insert(hosts.begin(), node.options.self);
  }
  std::vector<Contact> found;
  for (const HostId host : hosts) {
    const crdt::Field* record = node.store.field(host, crdt::FieldId::kRoll);
    const crdt::Identity* identity = node.hosts.addresses().identity(host);
    if (record == nullptr || identity == nullptr || found.size() >= kContactsMax) {
      continue;
    }
    Contact contact;
    contact.address = identity->control.text();
    contact.link_key = node.roll.link_key(host);
    write_record(contact, host, *record);
    found.push_back(std::move(contact));
  }
  return found;
}

TicketList ticket_list(const NodeView& node) {
  TicketList list;
  const scheduler::State& state = node.seat.state();
  const std::int64_t unix_ms = node.wall_clock.unix_ms(node.now);
  for (const auto& [key, ticket] : state.roll().tickets()) {
    TicketInfo info;
    info.key = key;
    info.uses = ticket.uses;
    info.used = ticket.used_by.size();
    const Duration left = std::max(ticket.ends_at - state.cluster_time(), Duration(0));
    info.ends_in_ms = static_cast<std::uint64_t>(to_ms(left));
    info.may_vote = ticket.may_vote;
    info.may_vouch = ticket.may_vouch;
    info.host_name = ticket.host_name;
    info.by = ticket.by;
    info.age_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(unix_ms - ticket.unix_ms, 0));
    info.why_not = ticket.why_not(state.cluster_time());
    list.tickets.push_back(std::move(info));
  }
  std::stable_sort(list.tickets.begin(), list.tickets.end(),
                   [](const auto& a, const auto& b) { return a.age_ms < b.age_ms; });
  return list;
}

}  // namespace muster::agent
