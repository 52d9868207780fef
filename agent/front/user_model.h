#pragma once
// The users, teams and rules of access, for people to read. Pure functions over a Directory.

#include <string>

#include "agent/api/users.h"
#include "scheduler/access/directory.h"

namespace muster::agent {

/// A page of the users behind the name `after`; the first page has all teams, too.
UserList user_list(const scheduler::Directory& directory, const std::string& after);
/// Fills in the parts of `info` that the directory knows of its user.
void describe_user(const scheduler::Directory& directory, WhoamiInfo& info);

}  // namespace muster::agent
