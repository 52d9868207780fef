#include "agent/node/roll.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/node/row_words.h"
#include "gossip/base/mutant.h"

namespace muster::agent {
namespace {

/// What only a quorum says: its voters to each other, its leader to the agents, and founders.
bool is_word_of_quorum(gossip::MessageType type) {
  using gossip::MessageType;
  switch (type) {
    case MessageType::kVoteRequest:
    case MessageType::kVoteReply:
    case MessageType::kAppendRequest:
    case MessageType::kAppendReply:
    case MessageType::kSnapshotChunk:
    case MessageType::kSnapshotAck:
    case MessageType::kTimeoutNow:
    case MessageType::kPropose:
    case MessageType::kPromise:
    case MessageType::kForm:
    case MessageType::kHelloReply:
    case MessageType::kAssign:
    case MessageType::kStart:
    case MessageType::kStop:
    case MessageType::kFinishAck:
    case MessageType::kRelayedAcks:
      return true;
    case MessageType::kProbe:
    case MessageType::kAck:
    case MessageType::kCall:
    case MessageType::kVeto:
    case MessageType::kAccuse:
    case MessageType::kRows:
    case MessageType::kHello:
    case MessageType::kReady:
    case MessageType::kRefuse:
    case MessageType::kFinish:
    case MessageType::kRenew:
    case MessageType::kRenewAck:  // A relay passes it on.
    case MessageType::kRelayedRenews:
    case MessageType::kRequest:
    case MessageType::kResponse:
      return false;
  }
  return false;
}

void expect(const gossip::Endpoint& at, const std::string& key, Outbox& outbox) {
  if (!at.is_none()) {
    outbox.tell(gossip::Expect{at, key});
  }
}

}  // namespace

void Roll::follow(HostId host, const crdt::HostStore& store, Outbox& outbox) {
  const crdt::Field* field = store.field(host, crdt::FieldId::kRoll);
  auto record = field == nullptr ? std::nullopt : crdt::decode_roll(field->bytes);
  if (!record.has_value()) {
    return;
  }
  Known now{*std::move(record), ""};
  now.link_key = now.record.link_key;
  if (const auto identity = identity_in(store, host)) {
    now.control = identity->control;
    now.bulk = identity->bulk;
  }
  if (now.record.revoked) {
    now.link_key.clear();
  }
  const Known before = std::exchange(known_[host], now);
  if (now.record.revoked && !before.record.revoked && host != self_) {
    outbox.emit(Severity::kInfo, "host_shut_out", {{"host", host.short_hex()}});
  } else if (now.record.revoked && !before.record.revoked) {
    outbox.emit(Severity::kAlarm, "this_host_was_revoked",
                {{"advice",
                  "nobody listens to it any more; to come back it joins as another host, "
                  "with a new data directory and a ticket"}});
  }
  if (before.link_key != now.link_key) {
    if (!before.link_key.empty()) {
      outbox.tell(gossip::Admit{before.link_key, {}});
    }
    if (!now.link_key.empty()) {
      outbox.tell(gossip::Admit{now.link_key, {gossip::Sender::Kind::kHost, host}});
    }
  }
  if (host == self_) {
    return;  // Let in, for a clone is to be met; dialled only where one seems to be.
  }
  const bool is_new_key = before.link_key != now.link_key;
  if (is_new_key || before.control != now.control) {
    expect(now.control, now.link_key, outbox);
  }
  if (is_new_key || before.bulk != now.bulk) {
    expect(now.bulk, now.link_key, outbox);
  }
}

void Roll::follow_log(Instant now, const scheduler::SeatOutput& changes,
                      const scheduler::RollBook& book, crdt::HostStore& store, Outbox& outbox) {
  for (const HostId host : changes.admitted) {
    if (const scheduler::AdmittedHost* admitted = book.find(host)) {
      store.step(now, crdt::Vouch{host,
                                  {{Generation(admitted->authority), Sequence(admitted->edition)},
                                   admitted->record,
                                   admitted->signature}});
    }
  }
  if (changes.tickets_changed) {
    follow_tickets(book, outbox);
  }
}

std::vector<scheduler::entry::Admit> Roll::unlogged(const crdt::HostStore& store,
                                                    const scheduler::RollBook& book) const {
  std::vector<scheduler::entry::Admit> records;
  for (const auto& [host, known] : known_) {
    const crdt::Field* field = store.field(host, crdt::FieldId::kRoll);
    if (field == nullptr || records.size() >= kMetMax) {
      continue;
    }
    scheduler::entry::Admit record{host,
                                   field->version.generation.value(),
                                   field->version.sequence.value(),
                                   field->bytes,
                                   field->signature,
                                   "",
                                   "",
                                   known.record.revoked,
                                   ""};
    if (book.is_news(record)) {
      records.push_back(std::move(record));
    }
  }
  return records;
}

/// One that ended is let in, too, to hear why it is of no use any more.
void Roll::follow_tickets(const scheduler::RollBook& book, Outbox& outbox) {
  std::set<std::string> now;
  for (const auto& [key, ticket] : book.tickets()) {
    now.insert(key);
    if (!tickets_.contains(key)) {
      outbox.tell(gossip::Admit{key, {gossip::Sender::Kind::kTicket, {}, key}});
    }
  }
  for (const std::string& key : tickets_) {
    if (!now.contains(key)) {
      outbox.tell(gossip::Admit{key, {}});
    }
  }
  tickets_ = std::move(now);
}

const Roll::Known* Roll::find(HostId host) const {
  const auto found = known_.find(host);
  return found == known_.end() || found->second.record.revoked ? nullptr : &found->second;
}

bool Roll::allows(gossip::MessageType type, HostId from, const gossip::Sender& sender) const {
  const bool is_proven = sender.kind == gossip::Sender::Kind::kHost && sender.host == from;
  if (!is_proven && !mutant(Mutant::kSenderBelieved)) {
    return false;
  }
  return is_word_of_quorum(type) && !mutant(Mutant::kAnyoneSpeaksForQuorum) ? may_vote(from)
                                                                            : is_member(from);
}

bool Roll::is_member(HostId host) const {
  return find(host) != nullptr;
}

bool Roll::may_vote(HostId host) const {
  const Known* known = find(host);
  return known != nullptr && known->record.may_vote;
}

bool Roll::is_revoked(HostId host) const {
  const auto found = known_.find(host);
  return found != known_.end() && found->second.record.revoked;
}

bool Roll::is_taken(const std::string& link_key, HostId host) const {
  return std::any_of(known_.begin(), known_.end(), [&](const auto& entry) {
    return entry.first != host && entry.second.link_key == link_key;
  });
}

std::string Roll::link_key(HostId host) const {
  const Known* known = find(host);
  return known == nullptr ? "" : known->link_key;
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
