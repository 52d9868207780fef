#pragma once
// What a client's request is about, and the log's entry for an operator's word. Rules without
// fields; what is unreadable is about no job and no host.

#include <cstdint>
#include <string>

#include "agent/api/request.h"
#include "agent/front/asker.h"
#include "agent/node/known.h"
#include "gossip/base/result.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

HostId host_of(const Request& request);
JobId job_of(const Request& request);
/// What would make a host master of the cluster, or end another's agent: a host that may not vote
/// is not believed to say it for its people.
bool is_for_voters(const Request& request);
/// Why nobody is called what the request says of who asks; "" = it may be. `is_member`: a host
/// passed it on, and says on which one it was asked.
std::string why_not_named_so(const Request& request, bool is_member);
/// "USER@HOST": who asked, and where.
std::string asker_text(const Request& request);
/// The words to a leader's seat about a request of that number, or why it is told nothing.
Result<scheduler::SeatInput> seat_input_of(const Known& known, const Request& request,
                                           std::uint64_t number, const Asker& asker);

}  // namespace muster::agent
