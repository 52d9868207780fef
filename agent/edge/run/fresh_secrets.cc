#include "agent/edge/run/fresh_secrets.h"

#include <sys/random.h>

#include "agent/edge/disk/host_key.h"
#include "agent/edge/run/run_agent.h"
#include "gossip/base/check.h"
#include "gossip/edge/link_keys.h"
#include "gossip/edge/ticket_line.h"
#include "scheduler/access/access_token.h"

namespace muster::agent {
namespace {

std::string drawn_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return bytes;
}

}  // namespace

std::string fresh_submit_key() {
  using SubmitKey = Id128<struct SubmitKeyTag>;
  return SubmitKey::from_bytes(drawn_bytes(SubmitKey::kSizeBytes)).hex();
}

FreshTicket fresh_ticket() {
  FreshTicket ticket;
  ticket.secret = drawn_bytes(gossip::kLinkSeedBytes);
  ticket.key = gossip::LinkKeys::from_seed(ticket.secret).public_key;
  return ticket;
}

FreshAccess fresh_access(const ClusterId& cluster) {
  using Id = scheduler::AccessTokenId;
  scheduler::AccessToken token;
  token.cluster = cluster;
  token.id = Id::from_bytes(drawn_bytes(Id::kSizeBytes));
  token.secret = drawn_bytes(scheduler::kAccessSecretBytes);
  return {token.id, hash_of(token, HostKeyVerifier()), to_line(token)};
}

Result<std::string> ticket_line(const std::string& secret, const TicketMade& made) {
  gossip::TicketLine line;
  line.authority = made.authority;
  line.secret = secret;
  for (const Contact& contact : made.contacts) {
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

RestChance rest_chance() {
  return {fresh_submit_key, fresh_access, fresh_ticket, ticket_line};
}

}  // namespace muster::agent
