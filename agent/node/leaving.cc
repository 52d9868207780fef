#include "agent/node/leaving.h"

#include <algorithm>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/node/vouching.h"

namespace muster::agent {

std::string why_not_leave(const NodeView& node, const Request& request, std::string& remains) {
  const std::vector<GrantView> held = node.gang_agent.grants();
  const auto grants = std::count_if(held.begin(), held.end(), [](const GrantView& grant) {
    return grant.state != scheduler::GrantState::kAborted;
  });
  if (grants > 0) {
    std::string jobs;
    for (const GrantView& grant : held) {
      if (grant.state != scheduler::GrantState::kAborted) {
        jobs += (jobs.empty() ? "" : ", ") + text_of(grant.job);
      }
    }
    return (grants == 1 ? "job " + jobs + " has" : "jobs " + jobs + " have") + " ranks on host " +
           node.options.name + ": drain it (muster hosts drain " + node.options.name +
           "), or cancel " + (grants == 1 ? "it" : "them") + ", then leave";
  }
  const auto arguments = decode_payload<LeaveArgs>(request.arguments);
  const bool is_forced = arguments.has_value() && arguments->force;
  if (!is_forced && is_last_to_vouch(node)) {
    return "host " + node.options.name +
           " is the last host that may vouch for its logins, and without it nobody can submit or "
           "administer: allow another host first (muster hosts set NAME --may-vouch yes), or leave "
           "with --force";
  }
  const crdt::QuorumView quorum = node.seat.known_quorum();
  if (std::find(quorum.voters.begin(), quorum.voters.end(), node.options.self) ==
      quorum.voters.end()) {
    return "";
  }
  const std::size_t live = live_voters(node, quorum, node.options.self);
  const std::string left =
      std::to_string(live) + " of " + std::to_string(quorum.voters.size()) + " voters";
  if (live < quorum.voters.size() / 2 + 1 && !is_forced) {
    return "host " + node.options.name + " is a voter, and without it " + left +
           " would be alive, which is not a majority: start the others first, or leave with "
           "--force and lose the quorum";
  }
  remains = "host " + node.options.name + " is a voter: until another host takes its place, " +
            left + " remain";
  return "";
}

}  // namespace muster::agent
