#include "agent/front/user_model.h"

#include <algorithm>
#include <map>
#include <utility>

namespace muster::agent {
namespace {

using scheduler::Directory;
using scheduler::kDefaultTeam;

/// "SHA256:" and 43 letters.
constexpr std::size_t kFingerprintBytes = 50;

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

TokenInfo info_of(scheduler::AccessTokenId id, const scheduler::TokenRecord& token,
                  Duration cluster_time) {
  const Duration left = std::max(token.ends_at - cluster_time, Duration(0));
  return {id,
          token.user,
          token.label,
          token.rights.may_read,
          token.rights.may_submit,
          token.team,
          static_cast<std::uint64_t>(to_ms(left))};
}

TokenCopy copy_of(scheduler::AccessTokenId id, const scheduler::TokenRecord& token) {
  return {id,
          token.hash,
          token.user,
          token.label,
          token.rights.may_read,
          token.rights.may_submit,
          token.team,
          static_cast<std::uint64_t>(to_ms(token.ends_at))};
}

std::size_t bytes_of(const UserInfo& user) {
  std::size_t bytes = user.name.size();
  for (const std::string& team : user.teams) {
    bytes += team.size();
  }
  for (const UserKeyInfo& key : user.keys) {
    bytes += key.line.size() + kFingerprintBytes;
  }
  return bytes;
}

}  // namespace

UserList user_list(const Directory& directory, const std::string& after) {
  UserList list;
  list.version = directory.version();
  list.are_logins_users = directory.rules().are_logins_users;
  list.hides_other_teams = directory.rules().hides_other_teams;
  list.cluster = directory.cluster();
  const scheduler::AdminReset& reset = directory.last_reset();
  list.reset_epoch = reset.epoch;
  list.reset_at = reset.at.value();
  list.reset_admin = reset.admin;
  list.reset_by = reset.by;
  if (after.empty()) {
    list.teams = teams_of(directory);
  }
  std::size_t bytes = 0;
  for (auto each = directory.users().upper_bound(after); each != directory.users().end(); ++each) {
    if (list.users.size() == kUsersPage || bytes >= kUsersPageBytes) {
      list.next = list.users.back().name;
      break;
    }
    list.users.push_back({each->first, std::string(text_of(each->second.role)), each->second.teams,
                          user_keys(each->second)});
    bytes += bytes_of(list.users.back());
  }
  return list;
}

UserList copy_page(const Directory& directory, const UsersQuery& query, Duration cluster_time) {
  const auto& tokens = directory.tokens().all();
  UserList list;
  if (!query.wants_tokens) {
    list = user_list(directory, query.after);
    list.has_more_tokens = !tokens.empty();
  } else {
    list.version = directory.version();
    auto each = tokens.upper_bound(query.after_token);
    for (; each != tokens.end() && list.tokens.size() < kTokensPage; ++each) {
      list.tokens.push_back(copy_of(each->first, each->second));
    }
    list.has_more_tokens = each != tokens.end();
  }
  list.cluster_ms = static_cast<std::uint64_t>(to_ms(cluster_time));
  return list;
}

TokenList token_list(const Directory& directory, const std::string& user, const TokensQuery& query,
                     Duration cluster_time) {
  const auto& tokens = directory.tokens().all();
  TokenList list;
  for (auto each = tokens.upper_bound(query.after); each != tokens.end(); ++each) {
    if (!query.is_all && each->second.user != user) {
      continue;
    }
    if (list.tokens.size() == kTokensPage) {
      list.has_more = true;
      break;
    }
    list.tokens.push_back(info_of(each->first, each->second, cluster_time));
  }
  return list;
}

TokenInfo token_info(const Directory& directory, scheduler::AccessTokenId id,
                     Duration cluster_time) {
  const scheduler::TokenRecord* token = directory.tokens().find(id);
  return token == nullptr ? TokenInfo() : info_of(id, *token, cluster_time);
}

std::vector<UserKeyInfo> user_keys(const scheduler::User& user) {
  std::vector<UserKeyInfo> keys;
  for (const scheduler::UserKey& key : user.keys) {
    keys.push_back({to_line(key.line), "", key.next});
  }
  return keys;
}

void name_keys(std::vector<UserKeyInfo>& keys, const gossip::Verifier& hashes) {
  for (UserKeyInfo& key : keys) {
    const auto line = gossip::ssh_key_of_line(key.line);
    key.fingerprint = line ? fingerprint(line->key, hashes) : "";
  }
}

void describe_user(const Directory& directory, WhoamiInfo& info) {
  const scheduler::User user = directory.user(info.user);
  info.is_known = directory.is_founded();
  info.has_record = directory.has_record(info.user);
  info.role = text_of(user.role);
  info.teams = user.teams;
  info.version = directory.version();
  info.keys = user_keys(user);
}

}  // namespace muster::agent
