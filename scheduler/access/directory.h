#pragma once
// Directory holds the users, the teams, the rules of access and the access tokens of a cluster. It
// is a value: the log holds its changes, and every voter that applied them has the same. A user is
// a login name: the same name on two hosts is the same person.
//
// Invariants: from its founding on it has at least one administrator; a user is in teams that
// exist; the team kDefaultTeam always exists; the tokens of a user end when it is removed. Version
// 0 = not founded: nobody may do anything.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/result.h"
#include "scheduler/access/token_book.h"
#include "scheduler/protocol/users.h"

namespace muster::scheduler {

inline constexpr std::size_t kUsersMax = 20'000;
inline constexpr std::size_t kTeamsMax = 1'024;
inline constexpr std::size_t kTeamsOfUserMax = 64;
/// The team of users that are in no other.
inline constexpr std::string_view kDefaultTeam = "default";
/// The highest priority that a team may ask for, if nobody said otherwise.
inline constexpr std::int32_t kPriorityMaxDefault = 100;

struct Team {
  /// The highest priority that its users and leads may give to a job.
  std::int32_t priority_max = kPriorityMaxDefault;
  bool operator==(const Team&) const = default;
};

struct User {
  UserRole role = UserRole::kUser;
  std::vector<std::string> teams;  ///< The first one is that of jobs without `--team`.
  bool operator==(const User&) const = default;
};

struct AccessRules {
  /// Logins that are not in the directory have UserRole::kUser, in the default team. False: no
  /// role.
  bool are_logins_users = true;
  /// Users, leads and viewers see the jobs of their own teams alone.
  bool hides_other_teams = false;
  bool operator==(const AccessRules&) const = default;
};

class Directory {
 public:
  using Users = std::map<std::string, User, std::less<>>;
  using Teams = std::map<std::string, Team, std::less<>>;

  Directory() = default;
  /// From a snapshot.
  Directory(std::uint64_t version, Users users, Teams teams, AccessRules rules, TokenBook tokens)
      : version_(version),
        users_(std::move(users)),
        teams_(std::move(teams)),
        rules_(rules),
        tokens_(std::move(tokens)) {}

  /// Counts the changes, without tokens that end by themselves; 0 = not founded.
  std::uint64_t version() const { return version_; }
  bool is_founded() const { return version_ != 0; }
  /// The users with a record; a login may be a user without one.
  const Users& users() const { return users_; }
  /// The teams that were added or set; kDefaultTeam is there anyway.
  const Teams& teams() const { return teams_; }
  const AccessRules& rules() const { return rules_; }
  const TokenBook& tokens() const { return tokens_; }

  /// Makes the first administrator. Precondition: it is not founded.
  void found(const std::string& admin);
  /// kInvalid, kNotFound, kConflict: the reason why not, for people; it is unchanged.
  Status change(const DirectoryChange& change);
  /// Errors of TokenBook::add(). A token that is there already changes nothing.
  Status make_token(AccessTokenId id, TokenRecord record, Duration cluster_time);
  /// False if there is no such token.
  bool end_token(AccessTokenId id);
  void forget_ended_tokens(Duration cluster_time) { tokens_.forget_ended(cluster_time); }

  /// The role and teams of a login name.
  User user(std::string_view name) const;
  bool has_record(std::string_view name) const { return users_.find(name) != users_.end(); }
  bool is_in_team(std::string_view user, std::string_view team) const;
  /// The team of a job of that user that names none.
  std::string first_team(std::string_view user) const;
  bool has_team(std::string_view name) const;
  /// Precondition: has_team(name).
  Team team(std::string_view name) const;
  /// The names of the first users with that role.
  std::vector<std::string> bearers(UserRole role, std::size_t count_max) const;
  bool operator==(const Directory&) const = default;

 private:
  std::uint64_t version_ = 0;
  Users users_;
  Teams teams_;
  AccessRules rules_;
  TokenBook tokens_;
};

}  // namespace muster::scheduler
