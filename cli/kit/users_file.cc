#include "cli/kit/users_file.h"

#include <algorithm>

namespace muster::cli {
namespace {

using scheduler::DirectoryChange;
using scheduler::TeamChange;
using scheduler::UserChange;

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

template <class T>
const T* named(const std::vector<T>& list, const std::string& name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const T& each) { return each.name == name; });
  return found == list.end() ? nullptr : &*found;
}

void add_teams(const UsersFile& file, const agent::UserList& now, bool prune,
               DirectoryChange& change) {
  for (const auto& [name, team] : file.teams) {
    const agent::TeamInfo* known = named(now.teams, name);
    const bool is_news = known == nullptr || (team.priority_max.has_value() &&
                                              known->priority_max != *team.priority_max);
    if (is_news) {
      change.teams.push_back({name, false, team.priority_max});
    }
  }
  for (const agent::TeamInfo& team : now.teams) {
    if (prune && !file.teams.contains(team.name) && team.name != "default") {
      change.teams.push_back({team.name, true});
    }
  }
}

void move_to_keys(UserChange& change, const std::vector<agent::UserKeyInfo>& now,
                  const std::vector<gossip::SshKeyLine>& wanted) {
  const auto same_key = [](const gossip::SshKeyLine& key) {
    return [&key](const gossip::SshKeyLine& each) { return each.key == key.key; };
  };
  std::vector<gossip::SshKeyLine> kept;
  for (const agent::UserKeyInfo& key : now) {
    const auto line = gossip::ssh_key_of_line(key.line);
    if (!line) {
      continue;  // Of a type that this program does not know.
    }
    if (std::any_of(wanted.begin(), wanted.end(), same_key(*line))) {
      kept.push_back(*line);
    } else {
      change.keys_removed.push_back(line->key);
    }
  }
  for (const gossip::SshKeyLine& line : wanted) {
    if (std::none_of(kept.begin(), kept.end(), same_key(line))) {
      change.keys_added.push_back(line);
    }
  }
}

void add_users(const UsersFile& file, const agent::UserList& now, bool prune,
               DirectoryChange& change) {
  for (const auto& [name, user] : file.users) {
    const agent::UserInfo* known = named(now.users, name);
    UserChange wanted{name};
    if (user.role.has_value() && (known == nullptr || known->role != text_of(*user.role))) {
      wanted.role = user.role;
    }
    if (user.teams.has_value()) {
      move_to_teams(wanted, known == nullptr ? std::vector<std::string>() : known->teams,
                    *user.teams);
    }
    if (user.keys.has_value()) {
      move_to_keys(wanted, known == nullptr ? std::vector<agent::UserKeyInfo>() : known->keys,
                   *user.keys);
    }
    if (known == nullptr || wanted != UserChange{name}) {
      change.users.push_back(std::move(wanted));
    }
  }
  for (const agent::UserInfo& user : now.users) {
    if (prune && !file.users.contains(user.name)) {
      change.users.push_back({user.name, true});
    }
  }
}

std::string count_of_keys(std::size_t count) {
  return count == 1 ? "a key" : std::to_string(count) + " keys";
}

std::string line_of(const UserChange& user) {
  if (user.is_removal) {
    return "user " + user.name + ": removed";
  }
  std::string line;
  const auto add = [&](const std::string& text) { line += (line.empty() ? "" : ", ") + text; };
  if (user.role.has_value()) {
    add("role " + std::string(text_of(*user.role)));
  }
  for (const std::string& team : user.leaves) {
    if (!contains(user.joins, team)) {
      add("leaves team " + team);
    }
  }
  for (const std::string& team : user.joins) {
    add("joins team " + team);
  }
  if (!user.keys_removed.empty()) {
    add("loses " + count_of_keys(user.keys_removed.size()));
  }
  if (!user.keys_added.empty()) {
    add("gets " + count_of_keys(user.keys_added.size()));
  }
  return "user " + user.name + ": " + (line.empty() ? "added" : line);
}

std::string line_of(const TeamChange& team) {
  return "team " + team.name + ": " +
         (team.is_removal                 ? "removed"
          : team.priority_max.has_value() ? "highest priority " + std::to_string(*team.priority_max)
                                          : "added");
}

}  // namespace

void move_to_teams(UserChange& change, const std::vector<std::string>& now,
                   const std::vector<std::string>& wanted) {
  std::vector<std::string> kept;
  for (const std::string& team : now) {
    if (contains(wanted, team)) {
      kept.push_back(team);
    } else {
      change.leaves.push_back(team);
    }
  }
  if (!std::equal(
          kept.begin(), kept.end(), wanted.begin(),
          wanted.begin() + static_cast<std::ptrdiff_t>(std::min(kept.size(), wanted.size())))) {
    // Another order: the user leaves all teams, and joins them again.
    change.leaves = now;
    kept.clear();
  }
  for (const std::string& team : wanted) {
    if (!contains(kept, team)) {
      change.joins.push_back(team);
    }
  }
}

DirectoryChange change_for(const UsersFile& file, const agent::UserList& now, bool prune) {
  DirectoryChange change;
  add_teams(file, now, prune, change);
  add_users(file, now, prune, change);
  if (file.are_logins_users != std::nullopt && *file.are_logins_users != now.are_logins_users) {
    change.are_logins_users = file.are_logins_users;
  }
  if (file.hides_other_teams != std::nullopt && *file.hides_other_teams != now.hides_other_teams) {
    change.hides_other_teams = file.hides_other_teams;
  }
  return change;
}

std::vector<DirectoryChange> parts_of(const DirectoryChange& change) {
  std::vector<DirectoryChange> parts(1);
  const auto room_for = [&](std::size_t moves, std::size_t keys) -> DirectoryChange& {
    const DirectoryChange& last = parts.back();
    const bool is_full = last.size() == scheduler::kDirectoryChangesMax ||
                         last.moves() + moves > scheduler::kTeamMovesMax ||
                         last.key_moves() + keys > scheduler::kKeyMovesMax;
    return is_full ? parts.emplace_back() : parts.back();
  };
  for (const TeamChange& team : change.teams) {
    if (!team.is_removal) {
      room_for(0, 0).teams.push_back(team);
    }
  }
  // A new administrator is set before an old one is removed.
  for (const bool are_removals : {false, true}) {
    for (const UserChange& user : change.users) {
      if (user.is_removal == are_removals) {
        room_for(user.joins.size() + user.leaves.size(),
                 user.keys_removed.size() + user.keys_added.size())
            .users.push_back(user);
      }
    }
  }
  for (const TeamChange& team : change.teams) {
    if (team.is_removal) {
      room_for(0, 0).teams.push_back(team);
    }
  }
  parts.back().are_logins_users = change.are_logins_users;
  parts.back().hides_other_teams = change.hides_other_teams;
  return parts;
}

std::vector<std::string> lines_of(const DirectoryChange& change) {
  std::vector<std::string> lines;
  for (const TeamChange& team : change.teams) {
    lines.push_back(line_of(team));
  }
  for (const UserChange& user : change.users) {
    lines.push_back(line_of(user));
  }
  if (change.are_logins_users.has_value()) {
    lines.push_back(std::string("access: unix-users=") +
                    (*change.are_logins_users ? "user" : "none"));
  }
  if (change.hides_other_teams.has_value()) {
    lines.push_back(std::string("access: jobs=") + (*change.hides_other_teams ? "team" : "all"));
  }
  return lines;
}

}  // namespace muster::cli
