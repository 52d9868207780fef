#pragma once
// Decides which requests a host may pass on for its logins, whether the access token that a request
// shows is one, and whether the user may make the request: the rules of agent/front/access with the
// roll and the log, for one request. Rules without fields.

#include <optional>
#include <string>

#include "agent/api/request.h"
#include "agent/front/asker.h"
#include "agent/node/node_view.h"
#include "gossip/base/ids.h"
#include "scheduler/seat/seat_interface.h"

namespace muster::agent {

/// The kernel proves the login: what the client says of itself does not count.
void name_login(Request& request, const gossip::Sender& sender, const NodeOptions& own);
/// The reason to refuse `request` of a login because of its host, which may be this one; "" = it is
/// accepted.
std::string why_not_through(const NodeView& node, const Request& request, const Asker& asker);
/// Takes the access token that the request shows, if it shows one: then the user of the token asks,
/// and `request.token` is set. The reason to refuse the request; "" = it is accepted. A host
/// without the log may not know the token yet; then the request has no user until a host with the
/// log takes it. scheduler/access/access_token.h says why a token is believed.
std::string take_token(const NodeView& node, Request& request, const Asker& asker);
/// The asker of a request whose token was taken.
scheduler::Subject subject_of(const NodeView& node, const Request& request, HostId host);
/// `request` as this host passes it on: without the secret if the next host answers it and believes
/// this one.
Request to_pass_on(const NodeView& node, const Request& request);
/// The refusal of a request, which the asker's host vouches for, whose user has no right to it by
/// the users in the log, or by the last copy on a host without the log; nullopt if the user has it.
/// Before this host knows users it answers only reads, without output; root and the user of its own
/// agent may do what a host does alone. To reset the administrators the user needs no right, but to
/// be one of these two on a voter.
std::optional<Response> why_not_of_user(const NodeView& node, const Request& request,
                                        const Asker& asker);
/// The refusal of an order that its user has not signed and has to, or whose signature does not
/// count; nullopt if it may be proposed. The client signs it then: the payload is a
/// SignatureWanted. Precondition: this host leads.
std::optional<Response> why_not_signed(const NodeView& node, const Request& request,
                                       const scheduler::SeatInput& input);
/// True if without `host` another host may still vouch for its logins, or vote.
bool is_another_to_vouch(const NodeView& node, HostId host);
bool is_another_to_vote(const NodeView& node, HostId host);

/// True if this host may vouch for its logins, and no host that stays when it leaves may. False if
/// no host stays.
bool is_last_to_vouch(const NodeView& node);

}  // namespace muster::agent
