#pragma once
// TicketLine is a ticket as people hold it: one line that lets a host join a cluster. It names the
// endpoints and link keys of members, the key of the cluster authority, and the secret with which
// the newcomer proves itself. The holder of the line has the ticket.
//
// "muster1." and, in base64url, [[[ip, port, link key]...], authority, secret] and a checksum.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/wire/endpoint.h"

namespace muster::gossip {

/// Limit of the members that a ticket names.
inline constexpr std::size_t kTicketDoorsMax = 3;
inline constexpr std::size_t kTicketLineMax = 1024;

struct TicketLine {
  struct Door {
    Endpoint at;  ///< A control port.
    std::string link_key;
    bool operator==(const Door&) const = default;
  };
  std::vector<Door> doors;
  std::string authority;
  std::string secret;  ///< A seed: kLinkSeedBytes of link_keys.h.
  bool operator==(const TicketLine&) const = default;
};

std::string to_line(const TicketLine& ticket);
/// Parses a line; blanks around it are ignored. kInvalid says what is wrong: the line is cut off,
/// mistyped, or of a version that this program does not know.
Result<TicketLine> ticket_in(std::string_view line);

}  // namespace muster::gossip
