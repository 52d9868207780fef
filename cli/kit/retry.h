#pragma once
// Repeats orders whose second try changes nothing once the first one was done.

#include "cli/kit/session.h"

namespace muster::cli {

struct RetriedReply {
  Reply reply;               ///< The last one.
  bool may_be_done = false;  ///< Some try may have reached the log, whatever the last one says.
};

/// One try with each node, or a second one with the only one when the first may have been heard.
/// kNoQuorum is said only when no try can have reached the log. If the order has to be signed, the
/// person signs it, and it is sent again.
RetriedReply exchange_with_retries(Session& session, const agent::Request& request);

}  // namespace muster::cli
