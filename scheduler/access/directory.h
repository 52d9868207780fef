#pragma once
// Directory holds the users, the teams, the rules of access and the access tokens of a cluster. It
// is a value: the log holds its changes, and every voter that applied them has the same. A user is
// a login name: the same name on two hosts is the same person.
//
// Invariants: from its founding on it has at least one administrator; a user is in teams that
// exist; the team kDefaultTeam always exists; the tokens of a user end when it is removed. Once an
// administrator has a key, one always has. Version 0 = not founded: nobody may do anything.

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
inline constexpr std::size_t kKeysOfUserMax = 16;
/// The team of users that are in no other.
inline constexpr std::string_view kDefaultTeam = "default";
/// The highest priority that a team may ask for, if nobody said otherwise.
inline constexpr std::int32_t kPriorityMaxDefault = 100;

struct Team {
  /// The highest priority that its users and leads may give to a job.
  std::int32_t priority_max = kPriorityMaxDefault;
  bool operator==(const Team&) const = default;
};

/// A key by which a user signs.
struct UserKey {
  gossip::SshKeyLine line;
  /// The number that its next signed order has to have. Each order raises it, so that one that is
  /// seen twice counts once. It begins at the log index of the entry that added the key: a key that
  /// is removed and added again never gets a number that it had before.
  std::uint64_t next = 0;
  bool operator==(const UserKey&) const = default;
};

struct User {
  UserRole role = UserRole::kUser;
  std::vector<std::string> teams;  ///< The first one is that of jobs without `--team`.
  std::vector<UserKey> keys{};     ///< At most kKeysOfUserMax.
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

/// The last time that root of a voter made an administrator with a new key and took those of all
/// others. Each host tells it as an alarm.
struct AdminReset {
  std::uint64_t epoch = 0;  ///< Counter of the cluster's epoch; 0 = there was no reset.
  LogIndex at{};            ///< Of its entry.
  std::string admin{};
  std::string by{};  ///< "USER@HOST"
  bool operator==(const AdminReset&) const = default;

  bool is_after(const AdminReset& other) const {
    return epoch != other.epoch ? epoch > other.epoch : at > other.at;
  }
};

class Directory {
 public:
  using Users = std::map<std::string, User, std::less<>>;
  using Teams = std::map<std::string, Team, std::less<>>;

  Directory() = default;
  /// From a snapshot, or a copy.
  Directory(std::uint64_t version, Users users, Teams teams, AccessRules rules,
            TokenBook tokens = {}, ClusterId cluster = {}, AdminReset last_reset = {})
      : version_(version),
        users_(std::move(users)),
        teams_(std::move(teams)),
        rules_(rules),
        tokens_(std::move(tokens)),
        cluster_(cluster),
        last_reset_(std::move(last_reset)) {
    note_officers();
  }

  /// Counts the changes, without tokens that end by themselves; 0 = not founded.
  std::uint64_t version() const { return version_; }
  bool is_founded() const { return version_ != 0; }
  /// The users with a record; a login may be a user without one.
  const Users& users() const { return users_; }
  /// The teams that were added or set; kDefaultTeam is there anyway.
  const Teams& teams() const { return teams_; }
  const AccessRules& rules() const { return rules_; }
  const TokenBook& tokens() const { return tokens_; }
  /// The cluster that a signed order has to name.
  ClusterId cluster() const { return cluster_; }
  /// An administrator has a key: then an order that administrators alone may give needs the
  /// signature of its user. Else the word of a host that may vouch is enough.
  bool needs_signatures() const;

  /// Makes the first administrator. `at`: the log index of the entry. Precondition: it is not
  /// founded.
  void found(const entry::FoundDirectory& fact, LogIndex at);
  /// kInvalid, kNotFound, kConflict: the reason why not, for people; it is unchanged. `at`: the log
  /// index of the entry.
  Status change(const DirectoryChange& change, LogIndex at);
  /// Makes `reset.admin` an administrator with this key alone. Takes the keys of all other
  /// administrators, and the access tokens of all. kConflict: an administrator has that key
  /// already, or the user has no record and no more are possible; it is unchanged. Precondition: it
  /// is founded.
  Status reset_admin(const gossip::SshKeyLine& key, AdminReset reset);
  const AdminReset& last_reset() const { return last_reset_; }
  /// An order was signed by the key: its number is used. Precondition: the user has that key.
  void count_order(std::string_view user, const gossip::SshKey& key);
  /// nullptr if the user has no such key.
  const UserKey* key(std::string_view user, const gossip::SshKey& key) const;
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
  /// The names of the first users with that role, which is above kUser.
  std::vector<std::string> bearers(UserRole role, std::size_t count_max) const;
  /// The first lead that is in the team; "" if the team has no lead.
  std::string lead_of(std::string_view team) const;
  bool operator==(const Directory&) const = default;

 private:
  void note_officers();

  std::uint64_t version_ = 0;
  Users users_;
  /// Users with a role above kUser, by role; and the first lead of each team that has one. A
  /// refusal names them, and must not walk over all users.
  std::map<UserRole, std::vector<std::string>> officers_;
  std::map<std::string, std::string, std::less<>> leads_;
  Teams teams_;
  AccessRules rules_;
  TokenBook tokens_;
  ClusterId cluster_;
  AdminReset last_reset_;
};

}  // namespace muster::scheduler
