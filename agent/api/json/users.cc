#include "agent/api/json/users.h"

#include "agent/api/json/dump.h"

namespace muster::agent {

std::string to_json(const WhoamiInfo& info, const Response& answer) {
  return dump_answer({{"user", text_or_null(info.user)},
                      {"host", text_or_null(info.host_name)},
                      {"is_vouched", info.is_vouched},
                      {"user_role", info.is_known ? text_or_null(info.role) : Json(nullptr)},
                      {"has_record", info.has_record},
                      {"member_of", info.teams},
                      {"users_version", number_or_null(info.version)}},
                     answer);
}

std::string users_json(const UserList& list, const Response& answer) {
  Json users = Json::array();
  for (const UserInfo& user : list.users) {
    users.push_back({{"user", user.name}, {"user_role", user.role}, {"member_of", user.teams}});
  }
  return dump_answer({{"users", users}, {"users_version", number_or_null(list.version)}}, answer);
}

std::string teams_json(const UserList& list, const Response& answer) {
  Json teams = Json::array();
  for (const TeamInfo& team : list.teams) {
    teams.push_back(
        {{"team", team.name}, {"priority_max", team.priority_max}, {"user_count", team.users}});
  }
  return dump_answer({{"teams", teams}, {"users_version", number_or_null(list.version)}}, answer);
}

std::string access_json(const UserList& list, const Response& answer) {
  return dump_answer({{"unix_users", list.are_logins_users ? "user" : "none"},
                      {"visible_jobs", list.hides_other_teams ? "team" : "all"},
                      {"users_version", number_or_null(list.version)}},
                     answer);
}

std::string users_changed_json(const std::vector<std::string>& changes, bool is_made) {
  return dump({{"changes", changes}, {"is_made", is_made}});
}

std::string user_removed_json(const std::string& name, const std::vector<std::string>& jobs_left,
                              const std::vector<std::string>& jobs_cancelled) {
  return dump(
      {{"removed_user", name}, {"jobs_left", jobs_left}, {"cancelled_jobs", jobs_cancelled}});
}

}  // namespace muster::agent
