#include "membership/silent_hosts.h"

#include "gossip/base/check.h"

namespace muster::membership {
namespace {

std::string key_of(HostId host, const std::string& rack) {
  return rack.empty() ? std::string(host.bytes()) : rack;
}

std::size_t moved(std::size_t count, int by) {
  CHECK(by >= 0 || count > 0);
  return by < 0 ? count - 1 : count + static_cast<std::size_t>(by);
}

}  // namespace

Silence silence_of(const Member& member) {
  if (member.kind != crdt::ClaimKind::kSilent) {
    return Silence::kNone;
  }
  switch (member.state) {
    case MemberState::kSuspect:
      return member.claimed.by_all_needed == kNever ? Silence::kSuspect : Silence::kVerdict;
    case MemberState::kUnreachable:
      return Silence::kVerdict;
    case MemberState::kAlive:
    case MemberState::kLeft:
      break;
  }
  return Silence::kNone;
}

void SilentHosts::add_host(const std::string& rack) {
  ++fleet_;
  if (!rack.empty()) {
    racks_.change(rack, {1, 0, 0});
  }
}

void SilentHosts::drop_host(const std::string& rack) {
  CHECK(fleet_ > 0);
  --fleet_;
  if (!rack.empty()) {
    racks_.change(rack, {-1, 0, 0});
  }
}

void SilentHosts::on_silence(Instant now, HostId host, const std::string& rack, Silence silence) {
  const auto found = silent_.find(host);
  if (found == silent_.end() && silence == Silence::kNone) {
    return;
  }
  Record record;
  if (found == silent_.end()) {
    record.rack = rack;
    record.ages_at = now + kStormWindow;
    ages_.insert({record.ages_at, host});
  } else {
    record = found->second;
    count(host, record, false);
  }
  record.silence = silence;
  if (silence == Silence::kNone) {
    ages_.erase({record.ages_at, host});
    silent_.erase(host);
  } else {
    count(host, record, true);
    silent_.insert_or_assign(host, record);
  }
}

void SilentHosts::age(Instant now) {
  while (!ages_.empty() && ages_.begin()->first <= now) {
    const HostId host = ages_.begin()->second;
    ages_.erase(ages_.begin());
    Record& record = silent_.at(host);
    count(host, record, false);
    record.is_forgotten = !record.is_new && record.silence == Silence::kVerdict;
    record.is_new = false;
    record.ages_at = record.is_forgotten ? kNever : now + kForgottenAfter;
    if (!record.is_forgotten) {
      ages_.insert({record.ages_at, host});
    }
    count(host, record, true);
  }
}

void SilentHosts::count(HostId host, const Record& record, bool in) {
  const int one = in ? 1 : -1;
  const std::string key = key_of(host, record.rack);
  if (record.is_forgotten) {
    // A forgotten host is not part of the fleet.
    forgotten_ = moved(forgotten_, one);
    fleet_ = moved(fleet_, -one);
    racks_.change(key, {record.rack.empty() ? 0 : -one, 0, 0});
    return;
  }
  const bool is_suspect = record.silence == Silence::kSuspect;
  const bool is_striking = record.is_new || is_suspect;
  in_band_ = moved(in_band_, is_suspect ? one : 0);
  striking_ = moved(striking_, is_striking ? one : 0);
  racks_.change(key, {0, one, is_striking ? one : 0});
}

std::vector<HostId> SilentHosts::suspects() const {
  std::vector<HostId> suspects;
  for (const auto& [host, record] : silent_) {
    if (record.silence == Silence::kSuspect) {
      suspects.push_back(host);
    }
  }
  return suspects;
}

void SilentHosts::check_invariants() const {
  CHECK(forgotten_ <= silent_.size());
  CHECK(silent() <= fleet_);
  CHECK(striking_ <= silent());
  CHECK(in_band_ <= striking_);
}

}  // namespace muster::membership
