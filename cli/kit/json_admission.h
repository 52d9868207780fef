#pragma once
// JSON of tickets, keys and joins, by the rules of json_view.h.

#include <cstdint>
#include <string>

#include "agent/api/admission.h"
#include "agent/api/request.h"

namespace muster::cli {

std::string to_json(const agent::TicketList& list, const agent::Response& answer);
std::string to_json(const agent::KeysInfo& keys, const agent::Response& answer);
/// `what`: a host's name, "all" or "authority"; `is_over` false = it was asked for, not waited for.
std::string rotated_json(const std::string& what, bool is_over);
/// `line` "" = it is not told.
std::string ticket_json(const std::string& name, const std::string& line, const std::string& path);
std::string founding_json(std::uint64_t founders, const std::string& line, const std::string& path);
std::string joined_json(const std::string& host_name, HostId host, const ClusterId& cluster);

}  // namespace muster::cli
