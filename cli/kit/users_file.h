#pragma once
// UsersFile holds the users, teams and rules of access that a file names, and the change that makes
// a cluster's list agree with it. A second change for the same file is empty.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/users.h"
#include "scheduler/protocol/users.h"

namespace muster::cli {

struct UsersFile {
  struct FileUser {
    std::optional<scheduler::UserRole> role{};        ///< nullopt: it stays as it is.
    std::optional<std::vector<std::string>> teams{};  ///< All teams of the user, in this order.
    std::optional<std::vector<gossip::SshKeyLine>> keys{};  ///< All keys of the user.
  };
  struct FileTeam {
    std::optional<std::int32_t> priority_max{};
  };
  std::map<std::string, FileUser> users{};
  std::map<std::string, FileTeam> teams{};
  std::optional<bool> are_logins_users{};
  std::optional<bool> hides_other_teams{};
};

/// The change that makes `now` agree with the file. Users and teams that the file does not name
/// stay; with `prune` they are removed.
scheduler::DirectoryChange change_for(const UsersFile& file, const agent::UserList& now,
                                      bool prune);
/// The change of one user that leaves and joins teams until the user is in `wanted`, in that order.
void move_to_teams(scheduler::UserChange& change, const std::vector<std::string>& now,
                   const std::vector<std::string>& wanted);
/// Parts of a change within the limits of one order, in the order in which they are made.
std::vector<scheduler::DirectoryChange> parts_of(const scheduler::DirectoryChange& change);
/// A line for each part of a change: "user anna: role lead, joins nlp".
std::vector<std::string> lines_of(const scheduler::DirectoryChange& change);

}  // namespace muster::cli
