#include "agent/api/json/users.h"

#include "agent/api/json/dump.h"

namespace muster::agent {

namespace {

Json rights_of(const TokenInfo& token) {
  Json rights = Json::array();
  if (token.may_read) {
    rights.push_back("read");
  }
  if (token.may_submit) {
    rights.push_back("submit");
  }
  return rights;
}

Json prints_of(const std::vector<UserKeyInfo>& keys) {
  Json prints = Json::array();
  for (const UserKeyInfo& key : keys) {
    prints.push_back(key.fingerprint);
  }
  return prints;
}

}  // namespace

std::string to_json(const WhoamiInfo& info, const Response& answer) {
  const bool has_token = !info.token.id.is_zero();
  return dump_answer({{"user", text_or_null(info.user)},
                      {"host", text_or_null(info.host_name)},
                      {"is_vouched", info.is_vouched},
                      {"user_role", info.is_known ? text_or_null(info.role) : Json(nullptr)},
                      {"has_record", info.has_record},
                      {"member_of", info.teams},
                      {"keys", prints_of(info.keys)},
                      {"users_version", number_or_null(info.version)},
                      {"access_token", text_or_null(has_token ? info.token.id.short_hex() : "")},
                      {"made_for", text_or_null(info.token.label)},
                      {"token_rights", rights_of(info.token)},
                      {"ends_in_ms", has_token ? Json(info.token.ends_in_ms) : Json(nullptr)}},
                     answer);
}

std::string users_json(const UserList& list, const Response& answer) {
  Json users = Json::array();
  for (const UserInfo& user : list.users) {
    users.push_back({{"user", user.name},
                     {"user_role", user.role},
                     {"member_of", user.teams},
                     {"keys", prints_of(user.keys)}});
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

std::string tokens_json(const std::vector<TokenInfo>& tokens, const Response& answer) {
  Json list = Json::array();
  for (const TokenInfo& token : tokens) {
    list.push_back({{"access_token", token.id.short_hex()},
                    {"made_for", token.label},
                    {"user", token.user},
                    {"team", text_or_null(token.team)},
                    {"token_rights", rights_of(token)},
                    {"ends_in_ms", token.ends_in_ms}});
  }
  return dump_answer({{"access_tokens", list}}, answer);
}

std::string token_json(const TokenInfo& token, const std::string& line, const std::string& path) {
  return dump({{"access_token", token.id.short_hex()},
               {"made_for", token.label},
               {"line", text_or_null(line)},
               {"file", text_or_null(path)}});
}

}  // namespace muster::agent
