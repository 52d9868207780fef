#pragma once
// Whether a host may leave its cluster for good when its operator asks for it. A rule without
// fields.

#include <string>

#include "agent/api/request.h"
#include "agent/node/known.h"

namespace muster::agent {

/// The refusal for a host that may not leave; "" when it may, and `remains` says what is left.
std::string why_not_leave(const Known& known, const Request& request, std::string& remains);

}  // namespace muster::agent
