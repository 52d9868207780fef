#include "cli/edge/tickets.h"

#include <utility>

#include "agent/edge/run/fresh_secrets.h"

namespace muster::cli {

NewTicket new_ticket() {
  agent::FreshTicket fresh = agent::fresh_ticket();
  return {std::move(fresh.key), std::move(fresh.secret)};
}

NewAccess new_access(const ClusterId& cluster) {
  agent::FreshAccess fresh = agent::fresh_access(cluster);
  return {fresh.id, std::move(fresh.hash), std::move(fresh.line)};
}

Result<std::string> ticket_line(const std::string& secret, const agent::TicketMade& made) {
  return agent::ticket_line(secret, made);
}

}  // namespace muster::cli
