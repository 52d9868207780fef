#include "agent/api/rest/directory_body.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "gossip/ssh/ssh_key.h"

namespace muster::agent {
namespace {

using scheduler::DirectoryChange;
using scheduler::TeamChange;
using scheduler::UserChange;

std::vector<std::string> texts_or_none(JsonFields& fields, std::string_view name) {
  return fields.texts(name).value_or(JsonFields::Texts());
}

void take_user(JsonFields& user, DirectoryWish& wish) {
  user.need("user");
  UserChange change{user.text("user").value_or("")};
  change.is_removal = user.boolean("is_removed").value_or(false);
  if (const auto role = user.choice("user_role", {"viewer", "user", "lead", "operator", "admin"})) {
    change.role = scheduler::role_of(*role);
  }
  change.joins = texts_or_none(user, "joins");
  change.leaves = texts_or_none(user, "leaves");
  for (const std::string& line : texts_or_none(user, "keys_added")) {
    const auto key = gossip::ssh_key_of_line(line);
    if (key) {
      change.keys_added.push_back(*key);
    } else {
      user.refuse("keys_added", key.error().text);
    }
  }
  for (const std::string& print : texts_or_none(user, "keys_removed")) {
    wish.keys_lost.emplace_back(change.name, print);
  }
  if (change.name.empty()) {
    user.refuse("user", "it is empty");
  }
  if (change.is_removal && (change != UserChange{change.name, true})) {
    user.refuse("is_removed", "a user that is removed has no other change");
  }
  wish.change.users.push_back(std::move(change));
}

TeamChange take_team(JsonFields& team) {
  team.need("team");
  TeamChange change{team.text("team").value_or("")};
  change.is_removal = team.boolean("is_removed").value_or(false);
  if (const auto priority = team.integer("priority_max", INT32_MIN, INT32_MAX)) {
    change.priority_max = static_cast<std::int32_t>(*priority);
  }
  if (change.name.empty()) {
    team.refuse("team", "it is empty");
  }
  return change;
}

std::string keys_words(std::size_t count) {
  return count == 1 ? "a key" : std::to_string(count) + " keys";
}

std::string line_of_user(const UserChange& user) {
  if (user.is_removal) {
    return "user " + user.name + ": removed";
  }
  std::string line;
  const auto add = [&](const std::string& text) { line += (line.empty() ? "" : ", ") + text; };
  if (user.role.has_value()) {
    add("role " + std::string(text_of(*user.role)));
  }
  for (const std::string& team : user.leaves) {
    if (std::find(user.joins.begin(), user.joins.end(), team) == user.joins.end()) {
      add("leaves team " + team);
    }
  }
  for (const std::string& team : user.joins) {
    add("joins team " + team);
  }
  if (!user.keys_removed.empty()) {
    add("loses " + keys_words(user.keys_removed.size()));
  }
  if (!user.keys_added.empty()) {
    add("gets " + keys_words(user.keys_added.size()));
  }
  return "user " + user.name + ": " + (line.empty() ? "added" : line);
}

std::string line_of_team(const TeamChange& team) {
  return "team " + team.name + ": " +
         (team.is_removal                 ? "removed"
          : team.priority_max.has_value() ? "highest priority " + std::to_string(*team.priority_max)
                                          : "added");
}

std::optional<gossip::SshKey> key_of_user(const UserList& now, const std::string& name,
                                          const std::string& print) {
  for (const UserInfo& user : now.users) {
    for (const UserKeyInfo& key : user.keys) {
      if (user.name == name && key.fingerprint == print) {
        const auto line = gossip::ssh_key_of_line(key.line);
        return line ? std::optional(line->key) : std::nullopt;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

DirectoryWish directory_wish_of(JsonFields& body) {
  DirectoryWish wish;
  for (JsonFields* user : body.objects("users")) {
    take_user(*user, wish);
  }
  for (JsonFields* team : body.objects("teams")) {
    wish.change.teams.push_back(take_team(*team));
  }
  if (const auto logins = body.choice("unix_users", {"user", "none"})) {
    wish.change.are_logins_users = *logins == "user";
  }
  if (const auto jobs = body.choice("visible_jobs", {"all", "team"})) {
    wish.change.hides_other_teams = *jobs == "team";
  }
  if (wish.change == DirectoryChange()) {
    body.refuse("users", "give users, teams, unix_users or visible_jobs");
  }
  if (!wish.change.is_within_limits()) {
    body.refuse("users", "these are too many changes for one request: make several");
  }
  return wish;
}

Result<DirectoryChange> with_keys_lost(DirectoryWish wish, const UserList& now) {
  for (const auto& [name, print] : wish.keys_lost) {
    const auto key = key_of_user(now, name, print);
    if (!key.has_value()) {
      return Error{ErrorCode::kNotFound, "user " + name + " has no key " + print +
                                             ": `muster user list --json` lists them"};
    }
    const auto user =
        std::find_if(wish.change.users.begin(), wish.change.users.end(),
                     [&, &wanted = name](const auto& each) { return each.name == wanted; });
    user->keys_removed.push_back(*key);
  }
  return std::move(wish.change);
}

std::vector<std::string> directory_lines(const DirectoryChange& change) {
  std::vector<std::string> lines;
  for (const TeamChange& team : change.teams) {
    lines.push_back(line_of_team(team));
  }
  for (const UserChange& user : change.users) {
    lines.push_back(line_of_user(user));
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

}  // namespace muster::agent
