#pragma once
// Tickets as this process makes them: their secrets are made here and are told to no agent.

#include <string>

#include "agent/api/enrolment.h"
#include "cli/kit/world.h"
#include "gossip/base/result.h"

namespace muster::cli {

NewTicket new_ticket();
/// kInvalid: what the node said of its members cannot stand in a ticket.
Result<std::string> ticket_line(const std::string& secret, const agent::TicketMade& made);

}  // namespace muster::cli
