#pragma once
// A ticket as people hold it: one line that lets a host join a cluster. It says where members are
// and which keys they prove themselves with, the key of the cluster authority, and the secret that
// the newcomer proves itself with. Who has the line has the ticket.
//
// "muster1." and, in base64url, [[[ip, port, link key]...], authority, secret] and a checksum.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/wire/endpoint.h"

namespace muster::gossip {

/// Members that a ticket names at most.
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
/// Blanks around it are left out. kInvalid says what is wrong: cut off, mistyped, or of a version
/// that this program does not know.
Result<TicketLine> ticket_in(std::string_view line);

}  // namespace muster::gossip
