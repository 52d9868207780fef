#pragma once
// JSON of queues and shares, by the rules of view.h.

#include <string>
#include <vector>

#include "agent/api/queues.h"
#include "agent/api/request.h"

namespace muster::agent {

std::string to_json(const QueueList& list, const Response& answer);
/// The queues in which jobs wait, with these jobs by tier.
std::string waiting_json(const QueueList& list, const Response& answer);
std::string to_json(const ShareList& list, const Response& answer);
/// `is_made` is false if the changes were only listed.
std::string queues_changed_json(const std::vector<std::string>& changes, bool is_made);

}  // namespace muster::agent
