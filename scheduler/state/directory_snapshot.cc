#include "scheduler/state/directory_snapshot.h"

#include <utility>

#include "scheduler/protocol/codec.h"

namespace muster::scheduler {
namespace {

using gossip::Encoder;
using gossip::Reader;

enum class Part : std::uint8_t { kRules = 0, kUser = 1, kTeam = 2, kToken = 3, kReset = 4 };

Encoder begin(std::uint64_t section, Part part, std::size_t fields) {
  Encoder out;
  out.array(2 + fields).u64(section).u64(static_cast<std::uint64_t>(part));
  return out;
}

void read_rules(Reader& in, DirectoryParts& parts) {
  parts.version = in.u64();
  parts.rules.are_logins_users = in.boolean();
  parts.rules.hides_other_teams = in.boolean();
  parts.cluster = in.id<ClusterId>();
}

UserKey read_key(Reader& outer) {
  Reader in = outer.array();
  UserKey key;
  key.line = read_key_line(in);
  key.next = in.u64();
  return key;
}

void read_user(Reader& in, DirectoryParts& parts) {
  User& user = parts.users[in.text(kUserNameBytesMax)];
  user.role = static_cast<UserRole>(in.u64_at_most(static_cast<std::uint64_t>(UserRole::kAdmin)));
  user.teams = read_texts(in, kUserNameBytesMax);
  gossip::Reader keys = in.array_at_most(kKeysOfUserMax);
  while (keys.ok() && keys.left() > 0) {
    user.keys.push_back(read_key(keys));
  }
}

void read_team(Reader& in, DirectoryParts& parts) {
  Team& team = parts.teams[in.text(kUserNameBytesMax)];
  team.priority_max = static_cast<std::int32_t>(in.i64());
}

void write_token(Encoder& out, AccessTokenId id, const TokenRecord& token) {
  out.id(id).bytes(token.hash).text(token.user).text(token.label);
  out.boolean(token.rights.may_read).boolean(token.rights.may_submit);
  out.text(token.team).duration(token.ends_at);
}

void read_token(Reader& in, DirectoryParts& parts) {
  TokenRecord& token = parts.tokens[in.id<AccessTokenId>()];
  token.hash = in.text(kTokenHashBytesMax);
  token.user = in.text(kUserNameBytesMax);
  token.label = in.text(kTokenLabelBytesMax);
  token.rights.may_read = in.boolean();
  token.rights.may_submit = in.boolean();
  token.team = in.text(kUserNameBytesMax);
  token.ends_at = in.duration();
}

void read_reset(Reader& in, DirectoryParts& parts) {
  AdminReset& reset = parts.last_reset;
  reset.epoch = in.u64();
  reset.at = in.num<LogIndex>();
  reset.admin = in.text(kUserNameBytesMax);
  reset.by = in.text();
}

}  // namespace

Directory DirectoryParts::whole() && {
  return Directory(version, std::move(users), std::move(teams), rules, TokenBook(std::move(tokens)),
                   cluster, std::move(last_reset));
}

std::vector<Encoder> directory_documents(const Directory& directory, std::uint64_t section) {
  std::vector<Encoder> documents;
  if (!directory.is_founded()) {
    return documents;
  }
  documents.push_back(begin(section, Part::kRules, 4));
  documents.back()
      .u64(directory.version())
      .boolean(directory.rules().are_logins_users)
      .boolean(directory.rules().hides_other_teams)
      .id(directory.cluster());
  for (const auto& [name, user] : directory.users()) {
    documents.push_back(begin(section, Part::kUser, 4));
    documents.back().text(name).u64(static_cast<std::uint64_t>(user.role));
    write(documents.back(), user.teams);
    documents.back().array(user.keys.size());
    for (const UserKey& key : user.keys) {
      documents.back().array(2);
      write(documents.back(), key.line);
      documents.back().u64(key.next);
    }
  }
  for (const auto& [name, team] : directory.teams()) {
    documents.push_back(begin(section, Part::kTeam, 2));
    documents.back().text(name).i64(team.priority_max);
  }
  for (const auto& [id, token] : directory.tokens().all()) {
    documents.push_back(begin(section, Part::kToken, 8));
    write_token(documents.back(), id, token);
  }
  if (const AdminReset& reset = directory.last_reset(); reset.epoch != 0) {
    documents.push_back(begin(section, Part::kReset, 4));
    documents.back().u64(reset.epoch).num(reset.at).text(reset.admin).text(reset.by);
  }
  return documents;
}

void read_directory(Reader& in, DirectoryParts& parts) {
  switch (static_cast<Part>(in.u64_at_most(static_cast<std::uint64_t>(Part::kReset)))) {
    case Part::kRules:
      return read_rules(in, parts);
    case Part::kUser:
      return read_user(in, parts);
    case Part::kTeam:
      return read_team(in, parts);
    case Part::kToken:
      return read_token(in, parts);
    case Part::kReset:
      return read_reset(in, parts);
  }
}

}  // namespace muster::scheduler
