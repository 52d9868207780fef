#pragma once
// Tickets as this process makes them: their secrets are made here and are told to no agent.

#include <string>

#include "agent/api/enrolment.h"
#include "cli/kit/world.h"
#include "gossip/base/result.h"

namespace muster::cli {

NewTicket new_ticket();
/// The secret of an access token and its number are made here. No agent hears the secret before the
/// token is used.
NewAccess new_access(const ClusterId& cluster);
/// kInvalid: what the node said of its members cannot stand in a ticket.
Result<std::string> ticket_line(const std::string& secret, const agent::TicketMade& made);

}  // namespace muster::cli
