#pragma once
// Users, teams, the rules of access and access tokens, as clients change them and as nodes describe
// them.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/protocol/users.h"

namespace muster::agent {

/// An access token without its hash.
struct TokenInfo {
  scheduler::AccessTokenId id;
  std::string user;
  std::string label;  ///< `--for`
  bool may_read = false;
  bool may_submit = false;
  std::string team;              ///< "" = any team of the user.
  std::uint64_t ends_in_ms = 0;  ///< In cluster time; 0 = it has expired.
  bool operator==(const TokenInfo&) const = default;
};

/// A key by which a user signs orders.
struct UserKeyInfo {
  std::string line;         ///< As in a .pub file.
  std::string fingerprint;  ///< "" in the lists that hosts copy.
  std::uint64_t next = 0;   ///< The number of its next signed order.
  bool operator==(const UserKeyInfo&) const = default;
};

/// The payload of the refusal of an order that its user has to sign, or to sign again under another
/// number.
struct SignatureWanted {
  std::vector<UserKeyInfo> keys;  ///< Of the user.
  bool operator==(const SignatureWanted&) const = default;
};

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
  TokenInfo token{};               ///< The client asks with this one; a zero id = as a login.
  ClusterId cluster{};             ///< That signed orders name.
  std::vector<UserKeyInfo> keys{};
  bool operator==(const WhoamiInfo&) const = default;
};

struct UsersQuery {
  std::string after;  ///< Users behind this name; "" = from the first.
  /// A host that copies the list asks for a page of tokens instead, behind this one.
  bool wants_tokens = false;
  scheduler::AccessTokenId after_token{};
  bool operator==(const UsersQuery&) const = default;
};
struct UserInfo {
  std::string name;
  std::string role;
  std::vector<std::string> teams;  ///< None: the user is in team default.
  std::vector<UserKeyInfo> keys{};
  bool operator==(const UserInfo&) const = default;
};
struct TeamInfo {
  std::string name;
  std::int64_t priority_max = 0;
  std::uint64_t users = 0;  ///< With a record.
  bool operator==(const TeamInfo&) const = default;
};
/// An access token, for hosts that copy the list.
struct TokenCopy {
  scheduler::AccessTokenId id;
  std::string hash;
  std::string user;
  std::string label;
  bool may_read = false;
  bool may_submit = false;
  std::string team;
  std::uint64_t ends_at_ms = 0;  ///< Cluster time.
  bool operator==(const TokenCopy&) const = default;
};
/// The rules, and a page of users in the order of their names.
struct UserList {
  std::uint64_t version = 0;  ///< Counts the changes; 0 = the cluster is being founded.
  bool are_logins_users = false;
  bool hides_other_teams = false;
  std::vector<TeamInfo> teams;  ///< All of them, in the first page alone.
  std::vector<UserInfo> users;
  std::string next;  ///< The next page is behind this name; "" = this is the last one of users.
  // Only for hosts that copy the list:
  std::vector<TokenCopy> tokens{};
  bool has_more_tokens = false;  ///< Pages of tokens follow those of users.
  std::uint64_t cluster_ms = 0;  ///< The cluster time of the voter as it answered.
  ClusterId cluster{};           ///< That signed orders name.
  /// The last reset of the administrators: scheduler::AdminReset.
  std::uint64_t reset_epoch = 0;
  std::uint64_t reset_at = 0;
  std::string reset_admin{};
  std::string reset_by{};
  bool operator==(const UserList&) const = default;
};
/// The most users in a page. It ends also behind the user with which it reaches kUsersPageBytes.
inline constexpr std::size_t kUsersPage = 500;
inline constexpr std::size_t kUsersPageBytes = 256 << 10;
/// The most tokens in a page; one has at most some 700 bytes.
inline constexpr std::size_t kTokensPage = 500;

struct DirectoryArgs {
  scheduler::DirectoryChange change;
  bool operator==(const DirectoryArgs&) const = default;
};

/// Root of a voter, or the user of its agent, makes `admin` the one administrator with a key.
struct ResetAdminArgs {
  std::string admin;  ///< "" = the asker.
  gossip::SshKeyLine key;
  bool operator==(const ResetAdminArgs&) const = default;
};

struct TokenArgs {
  scheduler::AccessTokenId id;
  std::string hash;
  std::string label;
  bool may_read = false;
  bool may_submit = false;
  std::string team;
  std::uint64_t ttl_ms = 0;
  bool operator==(const TokenArgs&) const = default;
};
struct TokenRef {
  scheduler::AccessTokenId id;
  bool operator==(const TokenRef&) const = default;
};
struct TokensQuery {
  bool is_all = false;             ///< Tokens of all users, not the asker's own.
  scheduler::AccessTokenId after;  ///< Tokens behind this one; zero = from the first.
  bool operator==(const TokensQuery&) const = default;
};
/// A page, in the order of the ids.
struct TokenList {
  std::vector<TokenInfo> tokens;
  bool has_more = false;  ///< The next page is behind the last token of this one.
  bool operator==(const TokenList&) const = default;
};

}  // namespace muster::agent
