#include "agent/roll/roll.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/step/row_inputs.h"
#include "gossip/base/mutant.h"
#include "gossip/wire/message_table.h"

namespace muster::agent {
namespace {

void expect(const gossip::Endpoint& at, const std::string& key, Outbox& outbox) {
  if (!at.is_none()) {
    outbox.tell(gossip::Expect{at, key});
  }
}

}  // namespace

bool Roll::follow(HostId host, const crdt::HostStore& store, Outbox& outbox) {
  const crdt::Field* field = store.field(host, crdt::FieldId::kRoll);
  auto record = field == nullptr ? std::nullopt : crdt::decode_roll(field->bytes);
  if (!record.has_value()) {
    return false;
  }
  Known now{*std::move(record), field->version.generation.value()};
  if (now.record.revoked && now.record.may_vote) {
    ended_authority_ = std::max(ended_authority_, now.authority);
  }
  ended_authority_ = std::max(ended_authority_, now.record.vote_set_under);
  if (counts(now)) {
    const crdt::Field* link = store.field(host, crdt::FieldId::kLink);
    now.link = crdt::link_of(now.record,
                             link == nullptr ? std::nullopt : crdt::decode_link_cert(link->bytes));
  }
  if (const auto identity = identity_in(store, host)) {
    now.control = identity->control;
    now.bulk = identity->bulk;
  }
  const Known before = known_[host];
  admit(host, before, now, outbox);
  // The key that was expected last stays expected if it is still one of the two.
  now.expects_next = !now.link.next.empty() && before.expected() == now.link.next;
  count(before, false);
  count(now, true);
  known_[host] = now;
  tell_of_revocation(host, before.record.revoked, now.record.revoked, outbox);
  if (host != self_) {  // The own key is admitted, to meet a clone; IdWatch alone dials it.
    expect_at(before, now, outbox);
  }
  settle(store, outbox);
  return before.link.key != now.link.key;
}

void Roll::tell_of_revocation(HostId host, bool was_revoked, bool is_revoked,
                              Outbox& outbox) const {
  if (!is_revoked || was_revoked) {
    return;
  }
  if (host != self_) {
    outbox.emit(Severity::kInfo, "host_shut_out", {{"host", host.short_hex()}});
    return;
  }
  outbox.emit(Severity::kAlarm, "this_host_was_revoked",
              {{"advice",
                "every member refuses it from now on; to come back it joins as a new host, with a "
                "new data directory and a ticket"}});
}

/// The key, or "" if another host or a ticket has it: then it proves nothing for this host.
std::string Roll::claimed(HostId host, const std::string& key, Outbox& outbox) {
  const auto owner = owners_.find(key);
  if (key.empty() || tickets_.contains(key)) {
    return "";
  }
  if (owner != owners_.end() && owner->second != host && !mutant(Mutant::kTakenKeyLetIn)) {
    outbox.emit(Severity::kAlarm, "link_key_taken",
                {{"host", host.short_hex()}, {"of", owner->second.short_hex()}});
    return "";
  }
  owners_[key] = host;
  return key;
}

void Roll::admit(HostId host, const Known& before, Known& now, Outbox& outbox) {
  const auto is_of = [](const Known& known, const std::string& key) {
    return key == known.link.key || key == known.link.next;
  };
  for (const std::string& key : {before.link.key, before.link.next}) {
    if (!key.empty() && !is_of(now, key)) {
      owners_.erase(key);
      outbox.tell(gossip::Admit{key, {}});
    }
  }
  for (std::string* key : {&now.link.key, &now.link.next}) {
    if (!key->empty() && !is_of(before, *key)) {
      *key = claimed(host, *key, outbox);
      if (!key->empty()) {
        outbox.tell(gossip::Admit{*key, {gossip::Sender::Kind::kHost, host}});
      }
    }
  }
}

void Roll::expect_at(const Known& before, const Known& now, Outbox& outbox) const {
  const bool is_new_key = before.expected() != now.expected();
  if (is_new_key || before.control != now.control) {
    expect(now.control, now.expected(), outbox);
  }
  if (is_new_key || before.bulk != now.bulk) {
    expect(now.bulk, now.expected(), outbox);
  }
}

bool Roll::counts(const Known& known) const {
  return (!known.record.revoked || mutant(Mutant::kRevokedGoesOn)) &&
         known.authority >= counts_from_;
}

void Roll::count_from(std::uint64_t authority, const crdt::HostStore& store, Outbox& outbox) {
  wanted_from_ = std::max(wanted_from_, authority);
  settle(store, outbox);
}

void Roll::count(const Known& known, bool is_added) {
  if (known.authority == 0 || known.record.revoked) {
    return;
  }
  std::size_t& hosts = signed_by_[known.authority];
  hosts = is_added ? hosts + 1 : hosts - 1;
}

void Roll::settle(const crdt::HostStore& store, Outbox& outbox) {
  if (wanted_from_ <= counts_from_) {
    return;
  }
  std::size_t all = 0;
  std::size_t newer = 0;
  for (const auto& [authority, count] : signed_by_) {
    all += count;
    newer += authority >= wanted_from_ ? count : 0;
  }
  if (2 * newer <= all) {
    return;
  }
  counts_from_ = wanted_from_;
  std::vector<HostId> over;
  for (const auto& [host, known] : known_) {
    if (known.authority < counts_from_) {
      over.push_back(host);
    }
  }
  for (const HostId host : over) {
    follow(host, store, outbox);
  }
}

bool Roll::on_link_down(HostId host, Outbox& outbox) {
  const auto found = known_.find(host);
  if (found == known_.end() || found->second.link.next.empty()) {
    return false;
  }
  const Known before = found->second;
  found->second.expects_next = !before.expects_next;
  expect_at(before, found->second, outbox);
  return true;
}

void Roll::follow_log(Instant now, const scheduler::RollChanges& changes,
                      const scheduler::RollBook& book, crdt::HostStore& store, Outbox& outbox) {
  for (const HostId host : changes.enrolled) {
    if (const scheduler::EnrolledHost* enrolled = book.find(host)) {
      store.step(now, crdt::Vouch{host,
                                  {{Generation(enrolled->authority), Sequence(enrolled->edition)},
                                   enrolled->record,
                                   enrolled->signature}});
    }
  }
  if (changes.tickets) {
    follow_tickets(book, outbox);
  }
}

std::vector<scheduler::entry::Enrol> Roll::unlogged(const crdt::HostStore& store,
                                                    const scheduler::RollBook& book) const {
  std::vector<scheduler::entry::Enrol> records;
  for (const auto& [host, known] : known_) {
    const crdt::Field* field = store.field(host, crdt::FieldId::kRoll);
    // A thief with the secret of a replaced authority brings no host into the log.
    if (field == nullptr || records.size() >= kMetMax ||
        known.authority < book.keys().authority() ||
        !book.is_news(host, field->version.generation.value(), field->version.sequence.value())) {
      continue;
    }
    scheduler::entry::Enrol record{host,
                                   field->version.generation.value(),
                                   field->version.sequence.value(),
                                   field->bytes,
                                   field->proof,
                                   "",
                                   "",
                                   known.record.revoked,
                                   {},
                                   known.record.may_vouch && !known.record.revoked};
    records.push_back(std::move(record));
  }
  return records;
}

/// A ticket that ended is admitted, too: its holder hears why it is of no use any more.
void Roll::follow_tickets(const scheduler::RollBook& book, Outbox& outbox) {
  std::set<std::string> now;
  for (const auto& [key, ticket] : book.tickets()) {
    if (owners_.contains(key)) {
      continue;  // The key belongs to a host: no ticket takes it away.
    }
    now.insert(key);
    if (!tickets_.contains(key)) {
      outbox.tell(gossip::Admit{key, {gossip::Sender::Kind::kTicket, {}, key}});
    }
  }
  for (const std::string& key : tickets_) {
    if (!now.contains(key) && !owners_.contains(key)) {
      outbox.tell(gossip::Admit{key, {}});
    }
  }
  tickets_ = std::move(now);
}

const Roll::Known* Roll::find(HostId host) const {
  const Known* known = recent_.find(known_, host);
  return known == nullptr || !counts(*known) ? nullptr : known;
}

bool Roll::allows(gossip::MessageType type, HostId from, const gossip::Sender& sender) const {
  const bool is_proven = sender.kind == gossip::Sender::Kind::kHost && sender.host == from;
  if (!is_proven && !mutant(Mutant::kSenderBelieved)) {
    return false;
  }
  return gossip::is_said_by_quorum(type) && !mutant(Mutant::kAnyoneSpeaksForQuorum)
             ? may_vote(from)
             : is_member(from);
}

bool Roll::is_member(HostId host) const {
  return find(host) != nullptr;
}

const crdt::RollRecord* Roll::record(HostId host) const {
  const Known* known = find(host);
  return known == nullptr ? nullptr : &known->record;
}

std::uint64_t Roll::authority_of(HostId host) const {
  const Known* known = find(host);
  return known == nullptr ? 0 : known->authority;
}

std::uint64_t Roll::link_round(HostId host) const {
  const Known* known = find(host);
  return known == nullptr ? 0 : known->link.round;
}

crdt::LinkCert Roll::link(HostId host) const {
  const Known* known = find(host);
  return known == nullptr ? crdt::LinkCert() : known->link;
}

bool Roll::may_vote(HostId host) const {
  const Known* known = find(host);
  return known != nullptr && known->record.may_vote;
}

bool Roll::may_vouch(HostId host) const {
  const Known* known = find(host);
  return known != nullptr && known->record.may_vouch;
}

bool Roll::is_revoked(HostId host) const {
  const auto found = known_.find(host);
  return found != known_.end() && found->second.record.revoked;
}

bool Roll::is_taken(const std::string& link_key, HostId host) const {
  return std::any_of(known_.begin(), known_.end(), [&](const auto& entry) {
    const crdt::LinkCert& link = entry.second.link;
    return entry.first != host && (link.key == link_key || link.next == link_key ||
                                   entry.second.record.link_key == link_key);
  });
}

std::string Roll::link_key(HostId host) const {
  const Known* known = find(host);
  return known == nullptr ? "" : known->expected();
}

std::string Roll::identity_key(HostId host) const {
  const Known* known = find(host);
  return known == nullptr ? "" : known->record.identity_key;
}

std::vector<HostId> Roll::founders() const {
  std::vector<HostId> hosts;
  for (const auto& [host, known] : known_) {
    if (known.record.founders > 0 && !known.record.revoked) {
      hosts.push_back(host);
    }
  }
  return hosts;
}

std::uint64_t Roll::founders_wanted() const {
  const Known* own = find(self_);
  return own == nullptr ? 0 : own->record.founders;
}

}  // namespace muster::agent
