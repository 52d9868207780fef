#pragma once
// The signature of a person under an order that administrators alone may give. A node refuses such
// an order without one and names the keys of its user; the person signs, and it is sent again.

#include <optional>

#include "agent/api/users.h"
#include "cli/kit/session.h"

namespace muster::cli {

/// Signatures of one order: another one is needed after each order of the same key that came first.
inline constexpr int kSignaturesMax = 3;

/// The keys by one of which the order has to be signed; nullopt if the reply does not ask for it.
std::optional<agent::SignatureWanted> signature_wanted(const Reply& reply);
/// Signs the request by one of these keys. The host that is asked says which user and cluster it
/// is. An error is one sentence for the person.
Status sign(Session& session, const agent::SignatureWanted& wanted, agent::Request& request);

}  // namespace muster::cli
