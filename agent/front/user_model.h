#pragma once
// The users, teams, rules of access and access tokens, for people to read and for hosts that keep a
// copy. Pure functions over a Directory.

#include <string>
#include <vector>

#include "agent/api/users.h"
#include "gossip/base/signing.h"
#include "gossip/base/time.h"
#include "scheduler/access/directory.h"

namespace muster::agent {

/// A page of the users behind the name `after`; the first page has all teams, too.
UserList user_list(const scheduler::Directory& directory, const std::string& after);
/// The same for a host that keeps a copy: pages of users, then pages of tokens.
UserList copy_page(const scheduler::Directory& directory, const UsersQuery& query,
                   Duration cluster_time);
/// A page of the tokens of `user`, or of all users if the query says so.
TokenList token_list(const scheduler::Directory& directory, const std::string& user,
                     const TokensQuery& query, Duration cluster_time);
/// A zero id if there is no such token.
TokenInfo token_info(const scheduler::Directory& directory, scheduler::AccessTokenId id,
                     Duration cluster_time);
/// The keys of a user, without their fingerprints.
std::vector<UserKeyInfo> user_keys(const scheduler::User& user);
/// Fills in the fingerprints.
void name_keys(std::vector<UserKeyInfo>& keys, const gossip::Verifier& hashes);
/// Fills in the parts of `info` that the directory knows of its user.
void describe_user(const scheduler::Directory& directory, WhoamiInfo& info);

}  // namespace muster::agent
