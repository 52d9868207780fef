#pragma once
// Secrets that this process draws for a client: keys of submits, access tokens and tickets. The
// cluster hears their public halves and hashes; the lines are for the client alone. The door of
// HTTP and the CLI draw them by these.

#include <string>

#include "agent/api/enrolment.h"
#include "agent/api/rest/call_input.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// 32 hex digits.
std::string fresh_submit_key();
FreshTicket fresh_ticket();
FreshAccess fresh_access(const ClusterId& cluster);
/// The line that people hold. kInvalid: what the node said of its members cannot stand in a ticket.
Result<std::string> ticket_line(const std::string& secret, const TicketMade& made);

/// All of these.
RestChance rest_chance();

}  // namespace muster::agent
