#pragma once
// The answers of a node to clients from its own knowledge: hosts, events, the quorum, jobs. Rules
// without fields. They stand here and not in agent/front because answers about the quorum look into
// Raft; agent/front/read_model makes their payloads from state and rows.

#include <optional>
#include <string>

#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "agent/api/verbs.h"
#include "agent/node/node_view.h"
#include "gossip/base/result.h"

namespace muster::agent {

Response good(const NodeView& node, std::string payload);
/// The same with a text for people.
Response done(const NodeView& node, std::string payload, std::string text);
Response bad(const NodeView& node, ResponseStatus status, std::string text);

/// `row` is that of the verb; nullptr if there is no such verb.
Response unreadable(const NodeView& node, const VerbRow* row);
/// This host is a member of a cluster, or about to found one.
std::string member_already(const NodeView& node);

inline constexpr char kTicketsJoin[] = "a ticket lets a host join, and nothing else";
/// The answer to a message that is no request of this protocol. `is_ticket`: the asker has only a
/// ticket. In this protocol it hears kTicketsJoin. In another `version` its message may be a Join,
/// so that it hears the version of this node.
Response not_understood(const NodeView& node, std::uint32_t version, bool is_ticket);

/// The refusal of a request that names another node; nullopt if it is passed on there.
/// `may_forward`: a client asked here, and no other host passed it on.
std::optional<Response> why_not_named(const NodeView& node, const Request& request,
                                      bool may_forward);

/// Answers Answerer::kAsked and kAskedAnyway: any node does, with or without a quorum.
Response answer_here(const NodeView& node, const Request& request);
/// The events of this host.
Response events_of(const NodeView& node, const Request& request);
/// Answers Answerer::kVoter, kVoterOrAsked and kPlacer. `unled` is the reason that no leader may be
/// there, if the caller knows one; otherwise "". Precondition: the seat knows the state, or the
/// verb is kQuorum.
Response answer_from_state(const NodeView& node, const Request& request,
                           const std::string& unled = "");
/// The same for arguments that nobody has read yet. Only the host that answers reads them: a host
/// that passes them on may be older.
Response replica_answer(const NodeView& node, const Request& request);
/// The voters and the leader, as far as this node knows.
QuorumInfo quorum_info(const NodeView& node);

}  // namespace muster::agent
