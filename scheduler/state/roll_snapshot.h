#pragma once
// The encoding of the roll in a snapshot: the elements of its documents behind the section number.

#include <string>

#include "gossip/wire/wire.h"
#include "scheduler/state/roll_book.h"

namespace muster::scheduler {

inline constexpr std::size_t kEnrolledHostElements = 6;
inline constexpr std::size_t kTicketElements = 11;
inline constexpr std::size_t kRollKeysElements = 4;

void write_enrolled(gossip::Encoder& out, HostId id, const EnrolledHost& host);
/// Reads the elements behind the host id.
EnrolledHost read_enrolled(gossip::Reader& in);
void write_ticket(gossip::Encoder& out, const std::string& key, const Ticket& ticket);
/// Reads the elements behind the key.
Ticket read_ticket(gossip::Reader& in);
void write_roll_keys(gossip::Encoder& out, const RollKeys& keys);
RollKeys read_roll_keys(gossip::Reader& in);

}  // namespace muster::scheduler
