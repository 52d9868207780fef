#include "cli/edge/tickets.h"

#include <sys/random.h>

#include "agent/edge/disk/host_key.h"
#include "cli/kit/agent_settings.h"
#include "gossip/base/check.h"
#include "gossip/edge/link_keys.h"
#include "gossip/edge/ticket_line.h"
#include "scheduler/access/access_token.h"

namespace muster::cli {

NewTicket new_ticket() {
  NewTicket ticket;
  ticket.secret.resize(gossip::kLinkSeedBytes);
  CHECK(getrandom(ticket.secret.data(), ticket.secret.size(), 0) ==
        static_cast<ssize_t>(ticket.secret.size()));
  ticket.key = gossip::LinkKeys::from_seed(ticket.secret).public_key;
  return ticket;
}

NewAccess new_access(const ClusterId& cluster) {
  std::string drawn(scheduler::AccessTokenId::kSizeBytes + scheduler::kAccessSecretBytes, '\0');
  CHECK(getrandom(drawn.data(), drawn.size(), 0) == static_cast<ssize_t>(drawn.size()));
  scheduler::AccessToken token;
  token.cluster = cluster;
  token.id =
      scheduler::AccessTokenId::from_bytes(drawn.substr(0, scheduler::AccessTokenId::kSizeBytes));
  token.secret = drawn.substr(scheduler::AccessTokenId::kSizeBytes);
  return {token.id, hash_of(token, agent::HostKeyVerifier()), to_line(token)};
}

Result<std::string> ticket_line(const std::string& secret, const agent::TicketMade& made) {
  gossip::TicketLine line;
  line.authority = made.authority;
  line.secret = secret;
  for (const agent::Contact& contact : made.contacts) {
    const auto at = gossip::Endpoint::parse(contact.address, kControlPort);
    if (at.has_value() && line.doors.size() < gossip::kTicketDoorsMax) {
      line.doors.push_back({*at, contact.link_key});
    }
  }
  if (line.doors.empty() || line.authority.empty()) {
    return Error{ErrorCode::kInvalid,
                 "the answer lists no member that a new host can contact: compare `muster version` "
                 "here and there"};
  }
  return gossip::to_line(line);
}

}  // namespace muster::cli
