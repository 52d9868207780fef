#pragma once
// The change of users, teams and rules of access that a body describes, and its lines for people.
// Pure.

#include <string>
#include <utility>
#include <vector>

#include "agent/api/rest/json_reader.h"
#include "agent/api/users.h"
#include "scheduler/protocol/users.h"

namespace muster::agent {

/// A change, but for the keys that users lose: clients name them by their fingerprints.
struct DirectoryWish {
  scheduler::DirectoryChange change{};
  /// {"ann", "SHA256:..."}; a user among `change.users`.
  std::vector<std::pair<std::string, std::string>> keys_lost{};
};

/// Takes the members: users, teams, unix_users, visible_jobs. The errors are those of end().
DirectoryWish directory_wish_of(JsonFields& body);
/// The change with the keys that users lose. kNotFound: a user has no such key.
Result<scheduler::DirectoryChange> with_keys_lost(DirectoryWish wish, const UserList& now);
/// A line for each part, as `muster user set` prints it: "user anna: role lead, joins team nlp".
std::vector<std::string> directory_lines(const scheduler::DirectoryChange& change);

}  // namespace muster::agent
