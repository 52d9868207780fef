#pragma once
// Users in the log: the person that gave an order, the roles, changes of users, teams and rules of
// access, access tokens, and what hosts report of refused requests. scheduler/access/directory.h
// says what such a change does.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/ssh/ssh_key.h"
#include "gossip/wire/wire.h"

namespace muster::scheduler {

/// Random number of one access token (scheduler/access/access_token.h).
using AccessTokenId = Id128<struct AccessTokenIdTag>;
/// The signature of a person under an order (scheduler/access/intent.h).
struct PersonSignature {
  std::uint64_t number = 0;  ///< Of the key, so that the order counts once: UserKey::next.
  std::string blob;          ///< The SSH signature, which names its key.
  /// The order as the person signed it, for an entry that the leader makes of it; else "".
  std::string order;
  bool operator==(const PersonSignature&) const = default;
};
inline constexpr std::size_t kSignedOrderBytesMax = 256;

/// The person that gave an order.
struct Subject {
  std::string name;    ///< "USER@HOST", for people. "" = no person ordered it.
  std::string user{};  ///< The login name that the host states.
  HostId host{};       ///< The host that vouches for the person.
  /// The order came with this token of `user`, not from a login; then `host` vouches for nothing.
  AccessTokenId token{};
  /// Absent: that host's word is the only proof.
  std::optional<PersonSignature> signature{};
  bool operator==(const Subject&) const = default;
};

/// Each role may do what scheduler/access/authorize.cc says. The numbers are those of the log.
enum class UserRole : std::uint8_t {
  kNone = 0,  ///< A stranger.
  kViewer = 1,
  kUser = 2,
  kLead = 3,  ///< Of all the teams that the user is in.
  kOperator = 4,
  kAdmin = 5,
};
/// "none", "viewer", "user", "lead", "operator", "admin".
std::string_view text_of(UserRole role);
/// nullopt if it is no role that a user can have.
std::optional<UserRole> role_of(std::string_view text);

/// Users and teams of one change, and teams that its users join or leave.
inline constexpr std::size_t kDirectoryChangesMax = 500;
inline constexpr std::size_t kTeamMovesMax = 2'000;
inline constexpr std::size_t kUserNameBytesMax = 256;
/// Keys that one change adds or removes.
inline constexpr std::size_t kKeyMovesMax = 500;

/// A change of one user: what is not named stays as it is. A user that is not known is added. The
/// user leaves teams before joining others: a team in both lists becomes the last one.
struct UserChange {
  std::string name;
  bool is_removal = false;
  std::optional<UserRole> role{};  ///< A new user: UserRole::kUser.
  std::vector<std::string> joins{};
  std::vector<std::string> leaves{};
  std::vector<gossip::SshKey> keys_removed{};
  std::vector<gossip::SshKeyLine> keys_added{};  ///< After the removals.
  bool operator==(const UserChange&) const = default;
};
struct TeamChange {
  std::string name;
  bool is_removal = false;
  std::optional<std::int32_t> priority_max{};
  bool operator==(const TeamChange&) const = default;
};
/// All of it happens, or no part of it. Teams change first; removed ones last.
struct DirectoryChange {
  std::vector<TeamChange> teams;
  std::vector<UserChange> users;
  std::optional<bool> are_logins_users{};
  std::optional<bool> hides_other_teams{};
  bool operator==(const DirectoryChange&) const = default;

  std::size_t size() const { return teams.size() + users.size(); }
  std::size_t moves() const;
  std::size_t key_moves() const;
  bool is_within_limits() const;
  bool changes_rules() const {
    return are_logins_users.has_value() || hides_other_teams.has_value();
  }
};

/// The things that a token permits, each only as far as its user may do them
/// (why_token_denied() in scheduler/access/authorize.h).
struct TokenRights {
  bool may_read = false;    ///< Hosts, jobs and output.
  bool may_submit = false;  ///< Jobs, and orders about own jobs.
  bool operator==(const TokenRights&) const = default;
};
/// Maximum life of a token, in cluster time.
inline constexpr Duration kTokenTtlMax = std::chrono::hours(24 * 366);
inline constexpr std::size_t kTokenLabelBytesMax = 64;
/// A limit for readers: a hash has gossip::kSha256Bytes.
inline constexpr std::size_t kTokenHashBytesMax = 64;
/// A request that made no entry of its own: a host refused it, or showed the output of a user to
/// another one.
struct RequestNote {
  Subject by;             ///< "" = several persons.
  std::string verb;       ///< As entries name it; "" = several.
  std::string object;     ///< "job 12"; "" = none, or not known.
  bool was_done = false;  ///< False: the person had no right to it.
  std::string why;        ///< A sentence, for people; the writer cuts it.
  bool operator==(const RequestNote&) const = default;
};
/// Notes of one batch.
inline constexpr std::size_t kNotesMax = 100;
inline constexpr std::size_t kNoteTextBytesMax = 256;

namespace entry {

/// Requests that a host refused or showed output to. A batch counts once: it does nothing unless it
/// is above the last batch of that host.
struct NoteRequests {
  HostId host;                   ///< The host that reports.
  std::uint64_t generation = 0;  ///< Of its agent.
  std::uint64_t batch = 0;       ///< From 1; counted by one life of the agent.
  std::vector<RequestNote> notes;
  bool operator==(const NoteRequests&) const = default;
};

/// The directory begins with one administrator. Does nothing if it has begun.
struct FoundDirectory {
  std::string admin;
  ClusterId cluster{};                      ///< That signed orders have to name.
  std::optional<gossip::SshKeyLine> key{};  ///< Of the administrator.
  bool operator==(const FoundDirectory&) const = default;
};
struct ChangeDirectory {
  DirectoryChange change;
  Subject by;
  bool operator==(const ChangeDirectory&) const = default;
};
/// Makes a token of the user that orders it. The log never contains its secret.
struct MakeAccessToken {
  AccessTokenId id;
  std::string hash;   ///< hash_of() in scheduler/access/access_token.h.
  std::string label;  ///< For people: "ci".
  TokenRights rights;
  std::string team;  ///< Jobs that it submits are in this team; "" = in any team of the user.
  Duration ttl{0};   ///< Of cluster time, from this entry on.
  Subject by;
  bool operator==(const MakeAccessToken&) const = default;
};
struct EndAccessToken {
  AccessTokenId id;
  Subject by;
  bool operator==(const EndAccessToken&) const = default;
};
/// All keys of administrators are lost or stolen: `admin` becomes an administrator with this key
/// alone. The other administrators lose their keys, and all of them their access tokens. No person
/// signs it; it counts if its host votes (scheduler/state/access_rules.h).
struct ResetAdmin {
  std::string admin;
  gossip::SshKeyLine key;
  Subject by;
  bool operator==(const ResetAdmin&) const = default;
};

}  // namespace entry

/// [number, blob, order]
void write(gossip::Encoder& out, const PersonSignature& signature);
PersonSignature read_person_signature(gossip::Reader& in);
/// [blob, comment]
void write(gossip::Encoder& out, const gossip::SshKeyLine& line);
/// Fails the reader if it is no key that is accepted.
gossip::SshKeyLine read_key_line(gossip::Reader& in);
void write(gossip::Encoder& out, const DirectoryChange& change);
/// Fails the reader beyond the limits above.
DirectoryChange read_directory_change(gossip::Reader& in);

/// Number of elements behind the header of each entry.
inline constexpr std::size_t kFoundDirectoryElements = 3;
inline constexpr std::size_t kChangeDirectoryElements = 2;
inline constexpr std::size_t kMakeAccessTokenElements = 8;
inline constexpr std::size_t kEndAccessTokenElements = 2;
void write(gossip::Encoder& out, const entry::FoundDirectory& fact);
void write(gossip::Encoder& out, const entry::ChangeDirectory& fact);
void write(gossip::Encoder& out, const entry::MakeAccessToken& fact);
void write(gossip::Encoder& out, const entry::EndAccessToken& fact);
entry::FoundDirectory read_found_directory(gossip::Reader& in);
entry::ChangeDirectory read_change_directory(gossip::Reader& in);
entry::MakeAccessToken read_make_access_token(gossip::Reader& in);
entry::EndAccessToken read_end_access_token(gossip::Reader& in);
inline constexpr std::size_t kResetAdminElements = 3;
void write(gossip::Encoder& out, const entry::ResetAdmin& fact);
entry::ResetAdmin read_reset_admin(gossip::Reader& in);
inline constexpr std::size_t kNoteRequestsElements = 4;
void write(gossip::Encoder& out, const entry::NoteRequests& fact);
/// Fails the reader beyond the limits above.
entry::NoteRequests read_note_requests(gossip::Reader& in);

}  // namespace muster::scheduler
