#pragma once
// Users, teams and the rules of access, as clients change them and as nodes describe them.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/protocol/users.h"

namespace muster::agent {

/// The asker, as the node that answers knows the person.
struct WhoamiInfo {
  std::string user;
  std::string host_name;  ///< The host of the login.
  bool is_vouched =
      false;  ///< That host may vouch for its logins: only then do role and teams count.
  bool is_known = false;           ///< The node has the list of users.
  bool has_record = false;         ///< False: the role is the one of logins without a record.
  std::string role;                ///< "none", "user", ...
  std::vector<std::string> teams;  ///< The first one is that of jobs without `--team`.
  std::uint64_t version = 0;       ///< Of the list of users.
  bool operator==(const WhoamiInfo&) const = default;
};

struct UsersQuery {
  std::string after;  ///< Users behind this name; "" = from the first.
  bool operator==(const UsersQuery&) const = default;
};
struct UserInfo {
  std::string name;
  std::string role;
  std::vector<std::string> teams;  ///< None: the user is in team default.
  bool operator==(const UserInfo&) const = default;
};
struct TeamInfo {
  std::string name;
  std::int64_t priority_max = 0;
  std::uint64_t users = 0;  ///< With a record.
  bool operator==(const TeamInfo&) const = default;
};
/// The rules, and a page of users in the order of their names.
struct UserList {
  std::uint64_t version = 0;  ///< Counts the changes; 0 = the cluster is being founded.
  bool are_logins_users = false;
  bool hides_other_teams = false;
  std::vector<TeamInfo> teams;  ///< All of them, in the first page alone.
  std::vector<UserInfo> users;
  std::string next;  ///< The next page is behind this name; "" = this is the last one.
  bool operator==(const UserList&) const = default;
};
/// The most users in a page. It ends also behind the user with which it reaches kUsersPageBytes.
inline constexpr std::size_t kUsersPage = 500;
inline constexpr std::size_t kUsersPageBytes = 256 << 10;

struct DirectoryArgs {
  scheduler::DirectoryChange change;
  bool operator==(const DirectoryArgs&) const = default;
};

}  // namespace muster::agent
