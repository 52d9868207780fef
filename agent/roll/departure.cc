#include "agent/roll/departure.h"

#include <algorithm>
#include <utility>

#include "agent/step/reachable.h"
#include "crdt/rows/host_state.h"
#include "gossip/base/check.h"

namespace muster::agent {
namespace {

/// True if the rows hold the goodbye of `self`.
bool has_goodbye(const crdt::RowsBody& rows, HostId self) {
  return std::any_of(rows.rows.begin(), rows.rows.end(), [self](const auto& of) {
    const auto field = of.row.fields.find(static_cast<std::uint32_t>(crdt::FieldId::kIdentity));
    return of.host == self && field != of.row.fields.end() &&
           crdt::decode_identity(field->second.bytes).value_or(crdt::Identity()).left;
  });
}

}  // namespace

void Departure::on_leave_asked(Instant now, std::set<HostId> peers,
                               const membership::Membership& membership) {
  CHECK(!is_ending());
  waits_for_ = std::move(peers);
  std::erase_if(waits_for_,
                [&](HostId host) { return host == self_ || !is_reachable(membership, host); });
  exit_at_ = now + (waits_for_.empty() ? kLeaveAskPeriod : kLeaveLinger);
  ask_at_ = waits_for_.empty() ? kNever : now + kLeaveAskPeriod;
}

void Departure::on_stop_asked(Instant now, bool hands_over) {
  stopping_ = true;
  exit_at_ = std::min(exit_at_, hands_over ? now + kHandOverMax : now);
  CHECK(is_ending());
}

void Departure::on_id_watched(Instant now, Outbox& outbox) {
  if (is_ending()) {
    return;
  }
  if (ids_.is_doubled()) {
    if (!outbox.exits()) {
      exit_at_ = now + kDoubledLinger;
      outbox.emit(
          Severity::kAlarm, "host_id_doubled",
          {{"host", self_.short_hex()}, {"advice", "another agent uses this id: both stop"}});
    }
  } else if (raise_to_.has_value() && !ids_.is_asking()) {
    outbox.restart_with(*raise_to_);
  }
}

void Departure::on_rows(Instant now, HostId from, const crdt::RowsBody& rows) {
  if (waits_for_.empty()) {
    return;
  }
  if (has_goodbye(rows, self_) && waits_for_.erase(from) != 0 && waits_for_.empty()) {
    exit_at_ = std::min(exit_at_, now + kLeaveAskPeriod);
    ask_at_ = kNever;
  }
}

void Departure::on_raise_asked(Generation to) {
  raise_to_ = std::max(raise_to_.value_or(Generation()), to);
}

const std::set<HostId>& Departure::ask(Instant now) {
  ask_at_ = now + kLeaveAskPeriod;
  return waits_for_;
}

Instant Departure::exit_at(Instant now, bool leads) const {
  return stopping_ && !leads ? now : exit_at_;
}

void Departure::exited() {
  exit_at_ = kNever;
  stopping_ = false;
}

}  // namespace muster::agent
