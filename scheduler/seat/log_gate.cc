#include "scheduler/seat/log_gate.h"

#include <algorithm>
#include <cstdint>

namespace muster::scheduler {

std::string why_not_taken(Instant now, const Raft& raft, const State& state, std::uint64_t level) {
  if (!raft.takes_proposals()) {
    return raft.is_handing_over() ? "another voter is about to lead: repeat"
                                  : "too much waits for the disks of a majority: repeat";
  }
  // A voter that cannot apply an entry already in the log stops there, whatever follows it.
  if (std::max(raft.common_level(), state.level_met()) >= level) {
    return "";
  }
  std::string hosts;
  for (const MemberLag& member : raft.lag(now)) {
    if (member.level < level) {
      const HostRecord* known = state.host(member.host);
      hosts +=
          (hosts.empty() ? "" : ", ") + (known == nullptr ? member.host.short_hex() : known->name);
    }
  }
  return "not every voter runs a version that knows this, as far as they said: upgrade " + hosts +
         " first, or start the voters that are down";
}

}  // namespace muster::scheduler
