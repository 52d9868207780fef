#pragma once
// JSON of users, teams, the rules of access and access tokens, by the rules of view.h.

#include <string>
#include <vector>

#include "agent/api/request.h"
#include "agent/api/users.h"

namespace muster::agent {

std::string to_json(const WhoamiInfo& info, const Response& answer);
std::string users_json(const UserList& list, const Response& answer);
std::string teams_json(const UserList& list, const Response& answer);
std::string access_json(const UserList& list, const Response& answer);
/// `is_made` is false if the changes were only listed.
std::string users_changed_json(const std::vector<std::string>& changes, bool is_made);
std::string user_removed_json(const std::string& name, const std::vector<std::string>& jobs_left,
                              const std::vector<std::string>& jobs_cancelled);

std::string tokens_json(const std::vector<TokenInfo>& tokens, const Response& answer);
/// A token that was made or revoked. "" = the line is in no file, or is not shown.
std::string token_json(const TokenInfo& token, const std::string& line, const std::string& path);

}  // namespace muster::agent
