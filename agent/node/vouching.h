#pragma once
// Decides which requests a host may pass on for its logins, and whether the user may make them: the
// rules of agent/front/access with the roll and the log, for one request. Rules without fields.

#include <optional>
#include <string>

#include "agent/api/request.h"
#include "agent/front/asker.h"
#include "agent/node/node_view.h"
#include "gossip/base/ids.h"

namespace muster::agent {

/// The reason to refuse `request` of a login because of its host, which may be this one; "" = it is
/// accepted.
std::string why_not_through(const NodeView& node, const Request& request, const Asker& asker);
/// The refusal of a request, which the asker's host vouches for, whose user has no right to it by
/// the users in the log, or by the last copy on a host without the log; nullopt if the user has it.
/// Before this host knows users it answers only reads, without output; root and the user of its own
/// agent may do what a host does alone.
std::optional<Response> why_not_of_user(const NodeView& node, const Request& request,
                                        const Asker& asker);
/// True if without `host` another host may still vouch for its logins, or vote.
bool is_another_to_vouch(const NodeView& node, HostId host);
bool is_another_to_vote(const NodeView& node, HostId host);

/// True if this host may vouch for its logins, and no host that stays when it leaves may. False if
/// no host stays.
bool is_last_to_vouch(const NodeView& node);

}  // namespace muster::agent
