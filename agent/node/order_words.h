#pragma once
// What a client's request is about, and the log's entry for an operator's word. Rules without
// fields; what is unreadable is about no job and no host.

#include <string>

#include "agent/api/request.h"
#include "scheduler/leader/inputs.h"

namespace muster::agent {

HostId host_of(const Request& request);
JobId job_of(const Request& request);
/// What would make a host master of the cluster, or end another's agent: a host that may not vote
/// is not believed to say it for its people.
bool is_for_voters(const Request& request);
/// The leader is asked first: it alone knows which hosts it bars.
constexpr bool asks_placement(Verb verb) {
  return verb == Verb::kWhy || verb == Verb::kDryRun;
}
/// Why nobody is called what the request says of who asks; "" = it may be. `is_member`: a host
/// passed it on, and says on which one it was asked.
std::string why_not_named_so(const Request& request, bool is_member);
/// What the leader says of the roll, signed: it is no operator's plain word.
constexpr bool is_of_roll(Verb verb) {
  return verb == Verb::kJoin || verb == Verb::kRevokeHost || verb == Verb::kRotateKeys ||
         verb == Verb::kSetHost;
}
/// "USER@HOST": who asked, and where.
std::string asker_text(const Request& request);
/// `speaker`: the host whose login says it.
decltype(scheduler::input::ClientOrder::order) order_of(const Request& request, HostId speaker);

}  // namespace muster::agent
