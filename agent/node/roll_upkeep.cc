#include "agent/node/roll_upkeep.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "crdt/rows/roll.h"
#include "gossip/ssh/ssh_key.h"
#include "gossip/wire/authority_link.h"
#include "scheduler/state/access_rules.h"

namespace muster::agent {
namespace {

using scheduler::EnrolledHost;

crdt::RollRecord record_in(const EnrolledHost& host) {
  return crdt::decode_roll(host.record).value_or(crdt::RollRecord());
}

/// Signs records of a replaced authority again, so that they still count.
void sign_again(const NodeView& node, scheduler::input::RollMet& due) {
  const std::uint64_t number = node.authority.number();
  for (const auto& [host, enrolled] : node.seat.state().roll().hosts()) {
    if (due.records.size() >= kSignedAgainMax) {
      return;
    }
    if (enrolled.authority >= number) {
      continue;
    }
    crdt::RollRecord record = record_in(enrolled);
    if (record.identity_key.empty()) {
      continue;
    }
    if (record.revoked) {  // Kept, so that all rows are alike; it has no further effect.
      record.may_vote = false;
      record.may_vouch = false;
    }
    due.records.push_back(changed_record(node, host, record));
    due.records.back().is_revoked = record.revoked;
  }
}

/// Tells reachable hosts whose keys are older than the wanted round to change them, as far as those
/// that were told already leave places.
void rotate(const NodeView& node, scheduler::input::RollMet& due) {
  const scheduler::RollBook& book = node.seat.state().roll();
  const Roll& roll = node.roll;
  std::size_t changing = 0;
  std::vector<std::tuple<std::string, HostId>> next;
  for (const auto& [host, enrolled] : book.hosts()) {
    const crdt::RollRecord* record = roll.record(host);
    const bool is_here = host == node.options.self || is_reachable(node.membership, host);
    if (record == nullptr || !is_here) {
      continue;
    }
    if (roll.link_round(host) < record->key_round) {
      ++changing;
    } else if (record->key_round < book.keys().round) {
      const crdt::Identity* identity = node.hosts.addresses().identity(host);
      next.emplace_back(identity == nullptr ? "" : identity->rack, host);
    }
  }
  std::sort(next.begin(), next.end());
  const std::size_t at_once = std::max(kChangingMax, book.hosts().size() / kChangingOneOf);
  for (const auto& [rack, host] : next) {
    if (changing >= at_once) {
      return;
    }
    ++changing;
    crdt::RollRecord record = record_in(*book.find(host));
    record.key_round = book.keys().round;
    due.records.push_back(changed_record(node, host, record));
  }
}

}  // namespace

scheduler::entry::Enrol changed_record(const NodeView& node, HostId host,
                                       const crdt::RollRecord& record) {
  const AuthorityBook& authority = node.authority;
  const EnrolledHost* before = node.seat.state().roll().find(host);
  const bool goes_on = before != nullptr && before->authority == authority.number();
  scheduler::entry::Enrol entry;
  entry.host = host;
  entry.authority = authority.number();
  entry.edition = goes_on ? before->edition + 1 : 1;
  const crdt::Field field = crdt::signed_roll(
      host, {Generation(entry.authority), Sequence(entry.edition)}, record, *authority.signer());
  entry.record = field.bytes;
  entry.signature = field.proof;
  entry.may_vouch = record.may_vouch && !record.revoked;
  entry.host_name = node.hosts.addresses().name(host).substr(0, scheduler::kTicketNameBytesMax);
  return entry;
}

scheduler::input::RollMet upkeep_of_roll(const NodeView& node) {
  const scheduler::State& state = node.seat.state();
  const scheduler::RollKeys& keys = state.roll().keys();
  const AuthorityBook& authority = node.authority;
  scheduler::input::RollMet due;
  due.records = node.roll.unlogged(node.store, state.roll());
  // Another founder told this name.
  const std::string& admin = node.options.credentials.first_admin;
  if (!state.directory().is_founded() && scheduler::is_admin_name(admin)) {
    const auto key = gossip::ssh_key_of_line(node.options.credentials.first_admin_key);
    due.directory = scheduler::entry::FoundDirectory{admin, node.cluster,
                                                     key ? std::optional(*key) : std::nullopt};
  }
  if (authority.signer() == nullptr || authority.number() != keys.authority()) {
    return due;
  }
  if (node.roll.ended_authority() >= authority.number()) {
    if (auto next = next_authority(node, {"muster"})) {
      due.authority = *std::move(next);
    }
    return due;
  }
  sign_again(node, due);
  if (!due.records.empty()) {
    return due;  // One change of a record at a time.
  }
  if (state.cluster_time() - keys.round_at >= kKeysAgeMax) {
    due.rotation = next_round(node, {"muster"});
  } else if (keys.round > 0) {
    rotate(node, due);
  }
  return due;
}

Result<scheduler::entry::ReplaceAuthority> next_authority(const NodeView& node,
                                                          scheduler::Subject by) {
  const Credentials& own = node.options.credentials;
  const AuthorityBook& authority = node.authority;
  if (authority.signer() == nullptr) {
    return Error{
        ErrorCode::kUnavailable,
        "host " + node.options.name + " leads but lacks the authority's secret: see `muster keys`"};
  }
  const std::string seed = own.key_maker->make_seed();
  scheduler::entry::ReplaceAuthority next;
  next.number = authority.number() + 1;
  next.key = std::string(own.key_maker->signer_of(seed)->public_key());
  next.signature = authority.signer()->sign(gossip::authority_words(next.number, next.key));
  next.by = std::move(by);
  const auto seal_to = [&](HostId host) {
    const EnrolledHost* enrolled = node.seat.state().roll().find(host);
    const crdt::RollRecord record = enrolled == nullptr ? crdt::RollRecord() : record_in(*enrolled);
    const bool is_sealed = std::any_of(next.sealed.begin(), next.sealed.end(),
                                       [&](const auto& each) { return each.first == host; });
    if (record.may_vote && !record.revoked && !is_sealed &&
        next.sealed.size() < scheduler::kSealedMax) {
      next.sealed.emplace_back(host, own.verifier->seal(record.identity_key, seed));
    }
  };
  for (const HostId voter : node.seat.known_quorum().voters) {
    seal_to(voter);  // Voters come first if there are too many hosts.
  }
  for (const auto& [host, enrolled] : node.seat.state().roll().hosts()) {
    seal_to(host);
  }
  return next;
}

scheduler::entry::RotateKeys next_round(const NodeView& node, scheduler::Subject by) {
  const scheduler::RollBook& book = node.seat.state().roll();
  std::uint64_t round = book.keys().round;
  for (const auto& [host, enrolled] : book.hosts()) {
    round = std::max(round, record_in(enrolled).key_round);
  }
  return {round + 1, std::move(by)};
}

KeysInfo keys_info(const NodeView& node) {
  const Roll& roll = node.roll;
  KeysInfo info;
  info.authority = node.authority.number();
  info.authority_from = std::max<std::uint64_t>(roll.counts_from(), 1);
  // Voters know of a wanted round that hosts were not told yet.
  const std::uint64_t wanted = node.seat.knows_state() ? node.seat.state().roll().keys().round : 0;
  const auto add = [&](HostId host) {
    const crdt::RollRecord* record = roll.record(host);
    if (record == nullptr) {
      return;
    }
    const crdt::LinkCert link = roll.link(host);
    HostKeys keys{host,
                  node.hosts.addresses().name(host),
                  roll.authority_of(host),
                  link.serial,
                  link.round,
                  std::max(record->key_round, wanted),
                  !link.next.empty(),
                  host == node.options.self || is_reachable(node.membership, host)};
    const bool is_behind = keys.round < keys.round_wanted || keys.authority < info.authority;
    ++info.members;
    info.behind += is_behind ? 1 : 0;
    if (info.hosts.size() < kKeysHostsMax) {
      info.hosts.insert(is_behind ? info.hosts.begin() : info.hosts.end(), std::move(keys));
    }
  };
  add(node.options.self);
  for (const auto& [host, member] : node.membership.members()) {
    if (host != node.options.self) {
      add(host);
    }
  }
  return info;
}

}  // namespace muster::agent
