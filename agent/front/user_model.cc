#include "agent/front/user_model.h"

#include <map>
#include <utility>

namespace muster::agent {
namespace {

using scheduler::Directory;
using scheduler::kDefaultTeam;

std::vector<TeamInfo> teams_of(const Directory& directory) {
  std::map<std::string, TeamInfo, std::less<>> teams;
  teams.try_emplace(std::string(kDefaultTeam));
  for (const auto& [name, team] : directory.teams()) {
    teams.try_emplace(name);
  }
  for (const auto& [name, user] : directory.users()) {
    for (const std::string& team : user.teams) {
      ++teams[team].users;
    }
    teams[std::string(kDefaultTeam)].users += user.teams.empty() ? 1 : 0;
  }
  std::vector<TeamInfo> list;
  for (auto& [name, info] : teams) {
    info.name = name;
    info.priority_max = directory.team(name).priority_max;
    list.push_back(std::move(info));
  }
  return list;
}

std::size_t bytes_of(const UserInfo& user) {
  std::size_t bytes = user.name.size();
  for (const std::string& team : user.teams) {
    bytes += team.size();
  }
  return bytes;
}

}  // namespace

UserList user_list(const Directory& directory, const std::string& after) {
  UserList list;
  list.version = directory.version();
  list.are_logins_users = directory.rules().are_logins_users;
  list.hides_other_teams = directory.rules().hides_other_teams;
  if (after.empty()) {
    list.teams = teams_of(directory);
  }
  std::size_t bytes = 0;
  for (auto each = directory.users().upper_bound(after); each != directory.users().end(); ++each) {
    if (list.users.size() == kUsersPage || bytes >= kUsersPageBytes) {
      list.next = list.users.back().name;
      break;
    }
    list.users.push_back(
        {each->first, std::string(text_of(each->second.role)), each->second.teams});
    bytes += bytes_of(list.users.back());
  }
  return list;
}

void describe_user(const Directory& directory, WhoamiInfo& info) {
  const scheduler::User user = directory.user(info.user);
  info.is_known = directory.is_founded();
  info.has_record = directory.has_record(info.user);
  info.role = text_of(user.role);
  info.teams = user.teams;
  info.version = directory.version();
}

}  // namespace muster::agent
