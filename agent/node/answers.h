#pragma once
// What a node answers to clients from what it knows itself: hosts, events, the quorum, jobs. Rules
// without fields. They stand here and not in agent/front because the quorum's answers look into
// Raft; agent/front/read_model makes what they send from state and rows.

#include <optional>
#include <string>

#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "agent/node/known.h"
#include "gossip/base/result.h"

namespace muster::agent {

Response good(const Known& known, std::string payload);
/// With a word for people.
Response done(const Known& known, std::string payload, std::string text);
Response bad(const Known& known, ResponseStatus status, std::string text);

inline constexpr char kTicketsJoin[] = "a ticket lets a host join, and nothing else";
/// To what is no request of this protocol. Who has a ticket alone is told which protocol that is
/// when he speaks another one, as then nobody knows whether he said Join.
Response not_understood(const Known& known, std::uint32_t version, bool is_ticket);

/// What a client hears of a request that names another node and is not passed on there; nothing
/// when it is. `may_forward`: a client asked here, and no other host passed it on.
std::optional<Response> why_not_named(const Known& known, const Request& request, bool may_forward);

/// Answerer::kAsked and kAskedAnyway: any node answers those, a quorum or not.
Response answer_here(const Known& known, const Request& request);
/// The events that this host noticed.
Response events_of(const Known& known, const Request& request);
/// Answerer::kVoter and those like it. `unled`: why no leader may be there, as far as who asks
/// knows; "" = he knows nothing. Precondition but for kQuorum: the seat knows the state.
Response answer_from_state(const Known& known, const Request& request,
                           const std::string& unled = "");
/// Who votes and leads, as far as this node knows.
QuorumInfo quorum_info(const Known& known);

}  // namespace muster::agent
