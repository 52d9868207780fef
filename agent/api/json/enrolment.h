#pragma once
// JSON of tickets, keys and joins, by the rules of view.h.

#include <cstdint>
#include <string>

#include "agent/api/enrolment.h"
#include "agent/api/request.h"

namespace muster::agent {

std::string to_json(const TicketList& list, const Response& answer);
std::string to_json(const KeysInfo& keys, const Response& answer);
/// `what` is a host's name, "all" or "authority". `is_over` is false if nobody waited for the end.
std::string rotated_json(const std::string& what, bool is_over);
/// `line` is "" if the document does not hold the ticket.
std::string ticket_json(const std::string& name, const std::string& line, const std::string& path);
std::string founding_json(std::uint64_t founders, const std::string& line, const std::string& path);
std::string joined_json(const std::string& host_name, HostId host, const ClusterId& cluster);

}  // namespace muster::agent
