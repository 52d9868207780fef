#pragma once
// The parts that all verbs about users share: the list as a node has it, and an order that changes
// it.

#include <optional>
#include <string>

#include "agent/api/users.h"
#include "cli/kit/session.h"
#include "scheduler/protocol/users.h"

namespace muster::cli {

/// All pages of the list. nullopt if a question failed: session.failed() is the exit code.
std::optional<agent::UserList> read_users(Session& session);
/// Orders the change and says what was done, one line for each part. Returns the exit code.
int change_users(Session& session, const scheduler::DirectoryChange& change);
/// Sends the order alone.
Reply order_change(Session& session, const scheduler::DirectoryChange& change);

/// An option `names` that takes the name of a role.
void describe_role(Options& options, std::optional<scheduler::UserRole>& role,
                   const std::string& help);

}  // namespace muster::cli
