// What clients ask of a seat.

#include "scheduler/seat/quorum_seat.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>


namespace muster::scheduler {

bool QuorumSeat::on_submit(Instant now, input::ClientSubmit& fact) {
  const bool is_new = leads() && !state().job_of_key(fact.key).has_value();
  if (std::string why_not = is_new ? why_not_taken(now, EntryKind::kSubmit) : "";
      !why_not.empty()) {
    output_.replies.push_back(
        {fact.request, std::nullopt, false, ErrorCode::kUnavailable, std::move(why_not)});
    return false;
  }
  scheduler_.step(now, std::move(fact));
  return true;
}

bool QuorumSeat::on_order(Instant now, input::ClientOrder& fact) {
  const EntryKind kind =
      std::visit([](const auto& entry) { return kind_of(Entry(entry)); }, fact.order);
  const std::string why_not = leads() ? why_not_taken(now, kind) : "";
  if (!why_not.empty()) {
    output_.replies.push_back(
        {fact.request, std::nullopt, false, ErrorCode::kUnavailable, why_not});
    return false;
  }
  scheduler_.step(now, std::move(fact));
  return true;
}

/// Of an entry that Raft drops the scheduler hears nothing: it would wait for the next such one.
std::string QuorumSeat::why_not_taken(Instant now, EntryKind kind) const {
  if (!raft_->takes_proposals()) {
    return raft_->is_handing_over() ? "another voter is about to lead: repeat"
                                    : "too much waits for the disks of a majority: repeat";
  }
  const std::uint64_t level = level_needed(kind);
  // Whoever does not know what the log holds already stops at that, whatever follows it.
  if (std::max(raft_->common_level(), state().level_met()) >= level) {
    return "";
  }
  std::string hosts;
  for (const MemberLag& member : raft_->lag(now)) {
    if (member.level < level) {
      const HostRecord* known = state().host(member.host);
      hosts +=
          (hosts.empty() ? "" : ", ") + (known == nullptr ? member.host.short_hex() : known->name);
    }
  }
  return "not every voter runs a version that knows this, as far as they said: upgrade " + hosts +
         " first, or start what is off";
}

}  // namespace muster::scheduler
