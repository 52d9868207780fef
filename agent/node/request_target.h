#pragma once
// The job and host that a client's request is about, and the log's entry for an operator's order.
// Rules without fields. A request that is not readable is about no job and no host.

#include <cstdint>
#include <string>

#include "agent/api/request.h"
#include "agent/front/asker.h"
#include "agent/node/node_view.h"
#include "gossip/base/result.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

HostId host_of(const Request& request);
JobId job_of(const Request& request);
/// The job or host that the request is about, as the audit names it; "" = no job and no host, or it
/// is not known. Precondition: there is such a verb.
std::string object_of(const NodeView& node, const Request& request);
/// True if an order of that kind may need the signature of its user. That of any other is dropped.
bool may_be_signed(const Request& request);
/// True if the request would give a host power over the cluster, or end the agent of another host.
/// Only a host that may vote passes on such a request for its logins.
bool is_for_voters(const Request& request);
/// The reason that the asker's name in the request is not valid; "" = it is valid. `is_member`: a
/// host passed the request on, and names the host on which it was asked.
std::string why_not_named_so(const Request& request, bool is_member);
/// The asker and its host: "USER@HOST".
std::string asker_text(const Request& request);
/// The input to a leader's seat for a request with that number, or the reason to refuse it.
Result<scheduler::SeatInput> seat_input_of(const NodeView& node, const Request& request,
                                           std::uint64_t number, const Asker& asker);

}  // namespace muster::agent
