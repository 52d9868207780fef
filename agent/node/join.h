#pragma once
// The answer to a newcomer that shows a ticket, and the changes of the roll that a leader logs.
// Rules without fields.

#include <string>
#include <vector>

#include "agent/api/enrolment.h"
#include "agent/api/request.h"
#include "agent/node/node_view.h"
#include "gossip/base/result.h"
#include "scheduler/leader/inputs.h"
#include "scheduler/protocol/entry.h"

namespace muster::agent {

/// An error if a field of a newcomer's request has a wrong size. It does not prove the content.
Status check(const JoinArgs& join);
/// An order to the leader's seat.
using RollOrder = decltype(scheduler::input::ClientOrder::order);
/// The order, and the host whose vote it ends; zero = no host loses its vote.
struct RollChange {
  RollOrder order;
  HostId ends_vote_of{};
};
/// The change that a Join, a RevokeHost, a SetHost or a RotateKeys asks for, signed by the
/// authority. Precondition: this host leads.
/// `by` is the asker, as the log keeps it.
Result<RollChange> change_of_roll(const NodeView& node, const Request& request,
                                  scheduler::Subject by);
/// The answer for a host whose record is `own`.
JoinInfo join_info(const NodeView& node, HostId host, const crdt::Field& own);
/// The same with the record in the log; the record is empty if the log has none.
JoinInfo join_info(const NodeView& node, const JoinArgs& join);
/// The payload of the answer to an order that was carried out; "" for most verbs.
std::string payload_of_done(const NodeView& node, const Request& request);
/// The voters and this host, with their addresses and keys.
std::vector<Contact> contacts(const NodeView& node);
TicketList ticket_list(const NodeView& node);

}  // namespace muster::agent
