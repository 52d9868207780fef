#pragma once
// JSON of the root certificate of HTTPS, by the rules of view.h.

#include <string>

#include "agent/api/certify.h"
#include "agent/api/request.h"

namespace muster::agent {

std::string to_json(const HttpRootInfo& info, const Response& answer);

}  // namespace muster::agent
