#pragma once
// Decides if a host may leave its cluster for good when its operator asks for it. A rule without
// fields.

#include <string>

#include "agent/api/request.h"
#include "agent/node/node_view.h"

namespace muster::agent {

/// The refusal for a host that may not leave; "" if it may. `remains` then warns, for people, of
/// the voters that remain; "" if the host does not vote.
std::string why_not_leave(const NodeView& node, const Request& request, std::string& remains);

}  // namespace muster::agent
