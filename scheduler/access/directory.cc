#include "scheduler/access/directory.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "gossip/base/name.h"

namespace muster::scheduler {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

Error unknown_team(const std::string& name) {
  return {ErrorCode::kNotFound,
          "there is no team " + name + ": add it with `muster team add " + name + "`"};
}

bool is_admin_with_key(const User& user) {
  return user.role == UserRole::kAdmin && !user.keys.empty();
}

/// nullptr if the user has no such key. `User` may be const.
template <class U>
auto* find_key(U& user, const gossip::SshKey& key) {
  const auto found = std::find_if(user.keys.begin(), user.keys.end(),
                                  [&](const UserKey& each) { return each.line.key == key; });
  return found == user.keys.end() ? nullptr : &*found;
}

/// The parts of a directory while a change is tried.
struct Draft {
  Directory::Users users;
  Directory::Teams teams;
  LogIndex at;

  bool has_team(const std::string& name) const {
    return name == kDefaultTeam || teams.contains(name);
  }
  Status add(const TeamChange& change);
  Status remove(const TeamChange& change);
  Status set(const UserChange& change);
  Status change_keys(const UserChange& change, User& user) const;
};

Status Draft::add(const TeamChange& change) {
  if (const Status name = check_word_name(change.name, "team"); !name) {
    return name;
  }
  if (!teams.contains(change.name) && teams.size() >= kTeamsMax) {
    return Error{ErrorCode::kConflict,
                 "there are " + std::to_string(kTeamsMax) + " teams, and no more are possible"};
  }
  Team& team = teams[change.name];
  team.priority_max = change.priority_max.value_or(team.priority_max);
  return ok();
}

Status Draft::remove(const TeamChange& change) {
  if (change.name == kDefaultTeam) {
    return Error{ErrorCode::kConflict, "the team default cannot be removed"};
  }
  if (teams.erase(change.name) == 0) {
    return unknown_team(change.name);
  }
  for (auto& [name, user] : users) {
    std::erase(user.teams, change.name);
  }
  return ok();
}

Status Draft::set(const UserChange& change) {
  if (change.name.empty() || change.name.size() > kUserNameBytesMax) {
    return Error{ErrorCode::kInvalid,
                 "the name of a user has 1 to " + std::to_string(kUserNameBytesMax) + " bytes"};
  }
  if (const Status name = check_line_name(change.name, "user"); !name) {
    return name;
  }
  if (change.is_removal) {
    return users.erase(change.name) > 0
               ? ok()
               : Status(Error{ErrorCode::kNotFound,
                              "there is no user " + change.name + ": see `muster user list`"});
  }
  if (change.role == UserRole::kNone) {
    return Error{ErrorCode::kInvalid, "none is not a role: remove the user instead"};
  }
  if (!users.contains(change.name) && users.size() >= kUsersMax) {
    return Error{ErrorCode::kConflict,
                 "there are " + std::to_string(kUsersMax) + " users, and no more are possible"};
  }
  User& user = users[change.name];
  user.role = change.role.value_or(user.role);
  for (const std::string& team : change.leaves) {
    std::erase(user.teams, team);
  }
  for (const std::string& team : change.joins) {
    if (!has_team(team)) {
      return unknown_team(team);
    }
    if (!contains(user.teams, team)) {
      user.teams.push_back(team);
    }
  }
  if (user.teams.size() > kTeamsOfUserMax) {
    return Error{ErrorCode::kConflict, "user " + change.name + " would be in more than " +
                                           std::to_string(kTeamsOfUserMax) + " teams"};
  }
  return change_keys(change, user);
}

Status Draft::change_keys(const UserChange& change, User& user) const {
  for (const gossip::SshKey& key : change.keys_removed) {
    const bool stays = mutant(Mutant::kRemovedKeyCounts) && find_key(user, key) != nullptr;
    if (!stays &&
        std::erase_if(user.keys, [&](const UserKey& each) { return each.line.key == key; }) == 0) {
      return Error{ErrorCode::kNotFound,
                   "user " + change.name + " has no such key: see `muster " + "user list --json`"};
    }
  }
  for (const gossip::SshKeyLine& line : change.keys_added) {
    if (UserKey* known = find_key(user, line.key)) {
      known->line.comment = line.comment;  // Its number goes on.
    } else {
      user.keys.push_back({line, at.value()});
    }
  }
  return user.keys.size() <= kKeysOfUserMax
             ? ok()
             : Status(Error{ErrorCode::kConflict, "user " + change.name + " would have more than " +
                                                      std::to_string(kKeysOfUserMax) + " keys"});
}

Status tried(Draft& draft, const DirectoryChange& change) {
  for (const TeamChange& team : change.teams) {
    if (Status done = team.is_removal ? ok() : draft.add(team); !done) {
      return done;
    }
  }
  for (const UserChange& user : change.users) {
    if (Status done = draft.set(user); !done) {
      return done;
    }
  }
  for (const TeamChange& team : change.teams) {
    if (Status done = team.is_removal ? draft.remove(team) : ok(); !done) {
      return done;
    }
  }
  const bool has_admin = std::any_of(draft.users.begin(), draft.users.end(), [](const auto& each) {
    return each.second.role == UserRole::kAdmin;
  });
  return has_admin ? ok()
                   : Status(Error{ErrorCode::kConflict,
                                  "nobody would be an admin any more: make another user an admin "
                                  "first (muster user set NAME --role admin)"});
}

}  // namespace

bool Directory::needs_signatures() const {
  const auto admins = officers_.find(UserRole::kAdmin);
  return admins != officers_.end() &&
         std::any_of(admins->second.begin(), admins->second.end(), [this](const std::string& name) {
           return is_admin_with_key(users_.at(name));
         });
}

void Directory::found(const entry::FoundDirectory& fact, LogIndex at) {
  CHECK(!is_founded());
  User& admin = users_[fact.admin];
  admin.role = UserRole::kAdmin;
  if (fact.key.has_value()) {
    admin.keys.push_back({*fact.key, at.value()});
  }
  cluster_ = fact.cluster;
  version_ = 1;
  note_officers();
}

/// Call it after each change of users.
void Directory::note_officers() {
  officers_.clear();
  leads_.clear();
  for (const auto& [name, user] : users_) {
    if (user.role > UserRole::kUser) {
      officers_[user.role].push_back(name);
    }
    if (user.role == UserRole::kLead) {
      for (const std::string& team : user.teams) {
        leads_.emplace(team, name);
      }
      if (user.teams.empty()) {
        leads_.emplace(kDefaultTeam, name);
      }
    }
  }
}

Status Directory::change(const DirectoryChange& change, LogIndex at) {
  if (!change.is_within_limits()) {
    return Error{ErrorCode::kInvalid, "more than " + std::to_string(kDirectoryChangesMax) +
                                          " users, teams and keys in one change"};
  }
  const bool needed_signatures = needs_signatures();
  Draft draft{users_, teams_, at};
  if (Status done = tried(draft, change); !done) {
    return done;
  }
  if (needed_signatures &&
      std::none_of(draft.users.begin(), draft.users.end(),
                   [](const auto& each) { return is_admin_with_key(each.second); })) {
    return Error{ErrorCode::kConflict,
                 "no admin would have a key any more: give one to another admin first (muster user "
                 "set NAME --key FILE)"};
  }
  users_ = std::move(draft.users);
  note_officers();
  teams_ = std::move(draft.teams);
  for (const UserChange& user : change.users) {
    if (user.is_removal) {
      tokens_.end_all_of(user.name);
    }
  }
  rules_.are_logins_users = change.are_logins_users.value_or(rules_.are_logins_users);
  rules_.hides_other_teams = change.hides_other_teams.value_or(rules_.hides_other_teams);
  ++version_;
  return ok();
}

Status Directory::reset_admin(const gossip::SshKeyLine& key, AdminReset reset) {
  CHECK(is_founded());
  if (!has_record(reset.admin) && users_.size() >= kUsersMax) {
    return Error{ErrorCode::kConflict, "there are " + std::to_string(kUsersMax) +
                                           " users, and no more are possible: name one of them"};
  }
  const auto named = users_.find(reset.admin);
  if (last_reset_.admin == reset.admin && named != users_.end() && named->second.keys.size() == 1 &&
      named->second.keys[0].line.key == key.key) {
    return ok();  // It is done, and its answer was lost.
  }
  const bool is_known = std::any_of(users_.begin(), users_.end(), [&](const auto& each) {
    return each.second.role == UserRole::kAdmin && find_key(each.second, key.key) != nullptr;
  });
  if (is_known) {
    return Error{ErrorCode::kConflict,
                 "that is a key of an administrator already: move its file away, or name a new key "
                 "with --ssh-key"};
  }
  users_[reset.admin].role = UserRole::kAdmin;
  for (auto& [name, user] : users_) {
    if (user.role == UserRole::kAdmin && !mutant(Mutant::kResetLeavesKeys)) {
      user.keys.clear();
      tokens_.end_all_of(name);
    }
  }
  users_[reset.admin].keys = {{key, reset.at.value()}};
  note_officers();
  last_reset_ = std::move(reset);
  ++version_;
  return ok();
}

Status Directory::make_token(AccessTokenId id, TokenRecord record, Duration cluster_time) {
  if (!record.team.empty() && !has_team(record.team)) {
    return unknown_team(record.team);
  }
  const bool is_new = tokens_.find(id) == nullptr;
  Status done = tokens_.add(id, std::move(record), cluster_time);
  version_ += done && is_new ? 1 : 0;
  return done;
}

bool Directory::end_token(AccessTokenId id) {
  const bool was_there =
      mutant(Mutant::kTokenOutlivesRevoking) ? tokens_.find(id) != nullptr : tokens_.end(id);
  version_ += was_there ? 1 : 0;
  return was_there;
}

void Directory::count_order(std::string_view user, const gossip::SshKey& key) {
  const auto known = users_.find(user);
  CHECK(known != users_.end());
  UserKey* signer = find_key(known->second, key);
  CHECK(signer != nullptr);
  ++signer->next;
}

const UserKey* Directory::key(std::string_view user, const gossip::SshKey& key) const {
  const auto known = users_.find(user);
  return known == users_.end() ? nullptr : find_key(known->second, key);
}

User Directory::user(std::string_view name) const {
  const auto known = users_.find(name);
  User found;
  if (known != users_.end()) {
    found = known->second;
  } else {
    const bool is_user = is_founded() && !name.empty() &&
                         (rules_.are_logins_users || mutant(Mutant::kStrangerIsUser));
    found.role = is_user ? UserRole::kUser : UserRole::kNone;
  }
  if (found.teams.empty()) {
    found.teams.emplace_back(kDefaultTeam);
  }
  return found;
}

bool Directory::is_in_team(std::string_view user_name, std::string_view team) const {
  const auto known = users_.find(user_name);
  return known == users_.end() || known->second.teams.empty() ? team == kDefaultTeam
                                                              : contains(known->second.teams, team);
}

std::string Directory::first_team(std::string_view user_name) const {
  return user(user_name).teams.front();
}

bool Directory::has_team(std::string_view name) const {
  return name == kDefaultTeam || teams_.find(name) != teams_.end();
}

Team Directory::team(std::string_view name) const {
  const auto known = teams_.find(name);
  return known == teams_.end() ? Team() : known->second;
}

std::vector<std::string> Directory::bearers(UserRole role, std::size_t count_max) const {
  const auto known = officers_.find(role);
  if (known == officers_.end()) {
    return {};
  }
  const auto count = static_cast<std::ptrdiff_t>(std::min(count_max, known->second.size()));
  return {known->second.begin(), known->second.begin() + count};
}

std::string Directory::lead_of(std::string_view team) const {
  const auto known = leads_.find(team);
  return known == leads_.end() ? "" : known->second;
}

}  // namespace muster::scheduler
