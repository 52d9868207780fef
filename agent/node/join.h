#pragma once
// What a newcomer that shows a ticket is answered with, and what the log is told of it. Rules
// without fields.

#include <string>
#include <vector>

#include "agent/api/enrolment.h"
#include "agent/api/request.h"
#include "agent/node/known.h"
#include "gossip/base/result.h"
#include "scheduler/leader/inputs.h"
#include "scheduler/protocol/entry.h"

namespace muster::agent {

/// Contacts in one answer at most.
inline constexpr std::size_t kContactsMax = 8;

/// What a newcomer says of itself has the right sizes; it may still be a lie.
Status check(const JoinArgs& join);
/// What the log is told, in the words of a client's order.
using RollOrder = decltype(scheduler::input::ClientOrder::order);
/// The order, and whose vote it takes: zero = nobody's.
struct RollChange {
  RollOrder order;
  HostId ends_vote_of{};
};
/// The change that a Join, a RevokeHost, a SetHost or a RotateKeys asks for, signed by the
/// authority. Precondition: this host leads.
/// `by`: who asks, as the log keeps it.
Result<RollChange> change_of_roll(const Known& known, const Request& request, std::string by);
/// For a host whose record is `own`.
JoinInfo join_info(const Known& known, HostId host, const crdt::Field& own);
/// The same when the log holds the record; nothing of the record when it does not.
JoinInfo join_info(const Known& known, const JoinArgs& join);
/// What an order that was carried out tells besides that.
std::string payload_of_done(const Known& known, const Request& request);
/// Voters, and this host, with their addresses and keys.
std::vector<Contact> contacts(const Known& known);
TicketList ticket_list(const Known& known);

}  // namespace muster::agent
