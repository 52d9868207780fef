#include "agent/roll/host_directory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "crdt/rows/codec.h"

namespace muster::agent {
namespace {

/// A suspicion is no verdict: it takes nothing away from a host, but see HostDirectory::view_of.
scheduler::Verdict verdict_of(const membership::Member& member) {
  switch (member.state) {
    case membership::MemberState::kAlive:
    case membership::MemberState::kSuspect:
      return scheduler::Verdict::kAlive;
    case membership::MemberState::kUnreachable:
      return member.kind == crdt::ClaimKind::kRefused ? scheduler::Verdict::kRefused
                                                      : scheduler::Verdict::kSilent;
    case membership::MemberState::kLeft:
      return scheduler::Verdict::kLeft;
  }
  return scheduler::Verdict::kAlive;
}

/// The place of `host` in `hosts`, or the place to insert it.
auto place_of(auto& hosts, HostId host) {
  return std::lower_bound(hosts.begin(), hosts.end(), host,
                          [](const auto& entry, HostId id) { return entry.first < id; });
}

}  // namespace

std::vector<scheduler::SeenHost> seen_hosts(const membership::Membership& membership,
                                            const Roll& roll, const scheduler::State& state) {
  std::vector<scheduler::SeenHost> hosts;
  for (const auto& [host, member] : membership.members()) {
    const bool lives = member.state == membership::MemberState::kAlive && !member.doubled;
    const scheduler::HostRecord* record = state.host(host);
    const bool has_left = member.state == membership::MemberState::kLeft || roll.is_revoked(host) ||
                          (record != nullptr && record->is_removed);
    if ((lives && roll.may_vote(host)) || has_left) {
      hosts.push_back({host, member.rack, has_left});
    }
  }
  return hosts;
}

void HostDirectory::on_identity(HostId host, const crdt::Identity& identity, Outbox& outbox) {
  addresses_.learn(host, identity);
  confirm(host, outbox.now());
  const auto claimant = host == self_ ? std::nullopt : addresses_.claimant(identity.name, host);
  if (claimant.has_value()) {
    outbox.emit(
        Severity::kAlarm, "name_claimed_twice",
        {{"name", identity.name}, {"host", host.short_hex()}, {"other", claimant->short_hex()}});
  }
}

void HostDirectory::on_version_heard(Instant now, HostId host, const crdt::RowVersion& newest,
                                     const crdt::HostStore& store) {
  const auto slot = store.rows().find(host);
  if (slot != store.rows().end() && slot->second.version >= newest) {
    confirm(host, now);
  }
}

void HostDirectory::confirm(HostId host, Instant now) {
  const auto place = place_of(confirmed_, host);
  if (place != confirmed_.end() && place->first == host) {
    place->second = now;
  } else {
    confirmed_.insert(place, {host, now});
  }
}

Duration HostDirectory::age(Instant now, const membership::Membership& membership) const {
  Instant oldest = now;
  for (const HostId host : membership.subjects()) {
    const membership::Member* member = membership.member(host);
    const bool is_shown_present =
        member != nullptr && (member->state == membership::MemberState::kAlive ||
                              member->state == membership::MemberState::kSuspect);
    if (is_shown_present) {
      const auto confirmed = place_of(confirmed_, host);
      const bool is_known = confirmed != confirmed_.end() && confirmed->first == host;
      oldest = std::min(oldest, is_known ? confirmed->second : started_);
    }
  }
  return now - oldest;
}

scheduler::HostView HostDirectory::view_of(const membership::Member& member, bool answers,
                                           const Roll& roll, const crdt::HostStore& store) {
  scheduler::HostView view;
  view.host = member.host;
  view.start = member.start;
  view.verdict = roll.is_revoked(member.host) ? scheduler::Verdict::kSilent : verdict_of(member);
  // New work goes elsewhere. On the smaller side of a cut this is all that befalls the far hosts.
  view.degraded = !answers || member.doubled;
  const Offer& offer = offer_of(member.host, store);
  view.cordoned = offer.cordoned || !offer.shortage.empty();
  view.shortage = offer.shortage;
  view.unhealthy_gpus = offer.unhealthy_gpus;
  return view;
}

const HostDirectory::Offer& HostDirectory::offer_of(HostId host, const crdt::HostStore& store) {
  const crdt::Field* field = store.field(host, crdt::FieldId::kCapacity);
  const crdt::RowVersion version = field == nullptr ? crdt::RowVersion() : field->version;
  Offer& offer = offers_[host];
  if (offer.version == version) {
    return offer;
  }
  offer = {version, false, "", {}};
  if (const auto capacity = crdt::decode_capacity(field == nullptr ? "" : field->bytes)) {
    offer.cordoned = capacity->cordoned;
    offer.shortage = capacity->shortage;
    for (const crdt::Gpu& gpu : capacity->gpus) {
      if (!gpu.healthy) {
        offer.unhealthy_gpus.push_back(gpu.uuid);
      }
    }
  }
  return offer;
}

bool HostDirectory::is_storm_news(StormMode storm) {
  return std::exchange(told_storm_, storm) != storm;
}

bool HostDirectory::is_own_news(Sequence own) {
  return std::exchange(told_own_, own) != own;
}

}  // namespace muster::agent
