#include "scheduler/protocol/users.h"

#include "gossip/base/name.h"
#include "gossip/ssh/ssh_signature.h"
#include "scheduler/protocol/codec.h"

namespace muster::scheduler {
namespace {

struct RoleName {
  UserRole role{};
  std::string_view text;
};
constexpr RoleName kRoleNames[] = {
    {UserRole::kNone, "none"}, {UserRole::kViewer, "viewer"},     {UserRole::kUser, "user"},
    {UserRole::kLead, "lead"}, {UserRole::kOperator, "operator"}, {UserRole::kAdmin, "admin"},
};

/// An optional value is an array of one element or of none.
template <class T>
gossip::Encoder& begin_optional(gossip::Encoder& out, const std::optional<T>& value) {
  return out.array(value.has_value() ? 1 : 0);
}

void write_optional(gossip::Encoder& out, const std::optional<bool>& value) {
  begin_optional(out, value);
  if (value.has_value()) {
    out.boolean(*value);
  }
}

std::optional<bool> read_optional_bool(gossip::Reader& in) {
  gossip::Reader value = in.array();
  return value.left() > 0 ? std::optional(value.boolean()) : std::nullopt;
}

void write_names(gossip::Encoder& out, const std::vector<std::string>& names) {
  out.array(names.size());
  for (const std::string& name : names) {
    out.text(name);
  }
}

std::vector<std::string> read_names(gossip::Reader& in) {
  gossip::Reader list = in.array_at_most(kTeamMovesMax);
  std::vector<std::string> names;
  while (list.ok() && list.left() > 0) {
    names.push_back(list.text(kUserNameBytesMax));
  }
  return names;
}

void write_team(gossip::Encoder& out, const TeamChange& team) {
  out.array(3).text(team.name).boolean(team.is_removal);
  begin_optional(out, team.priority_max);
  if (team.priority_max.has_value()) {
    out.i64(*team.priority_max);
  }
}

TeamChange read_team(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  TeamChange team;
  team.name = in.text(kUserNameBytesMax);
  team.is_removal = in.boolean();
  if (gossip::Reader priority = in.array(); priority.left() > 0) {
    team.priority_max = static_cast<std::int32_t>(priority.i64());
  }
  return team;
}

void write_user(gossip::Encoder& out, const UserChange& user) {
  out.array(7).text(user.name).boolean(user.is_removal);
  // No user has the role none: it stands for "as it is".
  out.u64(static_cast<std::uint64_t>(user.role.value_or(UserRole::kNone)));
  write_names(out, user.joins);
  write_names(out, user.leaves);
  out.array(user.keys_removed.size());
  for (const gossip::SshKey& key : user.keys_removed) {
    write(out, gossip::SshKeyLine{key, ""});
  }
  out.array(user.keys_added.size());
  for (const gossip::SshKeyLine& line : user.keys_added) {
    write(out, line);
  }
}

UserChange read_user(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  UserChange user;
  user.name = in.text(kUserNameBytesMax);
  user.is_removal = in.boolean();
  const auto role =
      static_cast<UserRole>(in.u64_at_most(static_cast<std::uint64_t>(UserRole::kAdmin)));
  user.role = role == UserRole::kNone ? std::nullopt : std::optional(role);
  user.joins = read_names(in);
  user.leaves = read_names(in);
  gossip::Reader removed = in.array_at_most(kKeyMovesMax);
  while (removed.ok() && removed.left() > 0) {
    user.keys_removed.push_back(read_key_line(removed).key);
  }
  gossip::Reader added = in.array_at_most(kKeyMovesMax);
  while (added.ok() && added.left() > 0) {
    user.keys_added.push_back(read_key_line(added));
  }
  return user;
}

std::string_view cut_note(const std::string& text) {
  return std::string_view(text).substr(0, kNoteTextBytesMax);
}

void write_note(gossip::Encoder& out, const RequestNote& note) {
  out.array(5);
  write(out, note.by);
  out.text(cut_note(note.verb)).text(cut_note(note.object));
  out.boolean(note.was_done).text(cut_note(note.why));
}

RequestNote read_note(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  RequestNote note;
  note.by = read_subject(in);
  note.verb = in.text(kNoteTextBytesMax);
  note.object = in.text(kNoteTextBytesMax);
  note.was_done = in.boolean();
  note.why = in.text(kNoteTextBytesMax);
  return note;
}

}  // namespace

std::string_view text_of(UserRole role) {
  for (const RoleName& name : kRoleNames) {
    if (name.role == role) {
      return name.text;
    }
  }
  return "";
}

std::optional<UserRole> role_of(std::string_view text) {
  for (const RoleName& name : kRoleNames) {
    if (name.text == text && name.role != UserRole::kNone) {
      return name.role;
    }
  }
  return std::nullopt;
}

std::size_t DirectoryChange::moves() const {
  std::size_t count = 0;
  for (const UserChange& user : users) {
    count += user.joins.size() + user.leaves.size();
  }
  return count;
}

std::size_t DirectoryChange::key_moves() const {
  std::size_t count = 0;
  for (const UserChange& user : users) {
    count += user.keys_removed.size() + user.keys_added.size();
  }
  return count;
}

bool DirectoryChange::is_within_limits() const {
  return size() <= kDirectoryChangesMax && moves() <= kTeamMovesMax && key_moves() <= kKeyMovesMax;
}

void write(gossip::Encoder& out, const PersonSignature& signature) {
  out.array(3).u64(signature.number).bytes(signature.blob).bytes(signature.order);
}

PersonSignature read_person_signature(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  PersonSignature signature;
  signature.number = in.u64();
  signature.blob = in.text(gossip::kSshSignatureBlobMax);
  signature.order = in.text(kSignedOrderBytesMax);
  return signature;
}

void write(gossip::Encoder& out, const gossip::SshKeyLine& line) {
  out.array(2).bytes(blob_of(line.key)).text(line.comment);
}

gossip::SshKeyLine read_key_line(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  gossip::SshKeyLine line;
  const auto key = gossip::ssh_key_of_blob(in.text(gossip::kSshKeyBlobMax));
  line.comment = in.text(gossip::kSshCommentBytesMax);
  if (key && is_line_name(line.comment)) {
    line.key = *key;
  } else {
    in.fail();
  }
  return line;
}

void write(gossip::Encoder& out, const DirectoryChange& change) {
  out.array(4).array(change.teams.size());
  for (const TeamChange& team : change.teams) {
    write_team(out, team);
  }
  out.array(change.users.size());
  for (const UserChange& user : change.users) {
    write_user(out, user);
  }
  write_optional(out, change.are_logins_users);
  write_optional(out, change.hides_other_teams);
}

DirectoryChange read_directory_change(gossip::Reader& outer) {
  gossip::Reader in = outer.array();
  DirectoryChange change;
  gossip::Reader teams = in.array_at_most(kDirectoryChangesMax);
  while (teams.ok() && teams.left() > 0) {
    change.teams.push_back(read_team(teams));
  }
  gossip::Reader users = in.array_at_most(kDirectoryChangesMax);
  while (users.ok() && users.left() > 0) {
    change.users.push_back(read_user(users));
  }
  change.are_logins_users = read_optional_bool(in);
  change.hides_other_teams = read_optional_bool(in);
  if (!change.is_within_limits()) {
    in.fail();
  }
  return change;
}

void write(gossip::Encoder& out, const entry::FoundDirectory& fact) {
  out.text(fact.admin).id(fact.cluster).array(fact.key.has_value() ? 1 : 0);
  if (fact.key.has_value()) {
    write(out, *fact.key);
  }
}

void write(gossip::Encoder& out, const entry::ChangeDirectory& fact) {
  write(out, fact.change);
  write(out, fact.by);
}

void write(gossip::Encoder& out, const entry::NoteRequests& fact) {
  out.id(fact.host).u64(fact.generation).u64(fact.batch).array(fact.notes.size());
  for (const RequestNote& note : fact.notes) {
    write_note(out, note);
  }
}

entry::NoteRequests read_note_requests(gossip::Reader& in) {
  entry::NoteRequests fact;
  fact.host = in.id<HostId>();
  fact.generation = in.u64();
  fact.batch = in.u64();
  gossip::Reader notes = in.array_at_most(kNotesMax);
  while (notes.ok() && notes.left() > 0) {
    fact.notes.push_back(read_note(notes));
  }
  return fact;
}

entry::FoundDirectory read_found_directory(gossip::Reader& in) {
  entry::FoundDirectory fact;
  fact.admin = in.text(kUserNameBytesMax);
  fact.cluster = in.id<ClusterId>();
  if (gossip::Reader key = in.array(); key.left() > 0) {
    fact.key = read_key_line(key);
  }
  return fact;
}

entry::ChangeDirectory read_change_directory(gossip::Reader& in) {
  entry::ChangeDirectory fact;
  fact.change = read_directory_change(in);
  fact.by = read_subject(in);
  return fact;
}

void write(gossip::Encoder& out, const entry::MakeAccessToken& fact) {
  out.id(fact.id).bytes(fact.hash).text(fact.label);
  out.boolean(fact.rights.may_read).boolean(fact.rights.may_submit);
  out.text(fact.team).duration(fact.ttl);
  write(out, fact.by);
}

void write(gossip::Encoder& out, const entry::EndAccessToken& fact) {
  out.id(fact.id);
  write(out, fact.by);
}

entry::MakeAccessToken read_make_access_token(gossip::Reader& in) {
  entry::MakeAccessToken fact;
  fact.id = in.id<AccessTokenId>();
  fact.hash = in.text(kTokenHashBytesMax);
  fact.label = in.text(kTokenLabelBytesMax);
  fact.rights.may_read = in.boolean();
  fact.rights.may_submit = in.boolean();
  fact.team = in.text(kUserNameBytesMax);
  fact.ttl = in.duration();
  fact.by = read_subject(in);
  return fact;
}

entry::EndAccessToken read_end_access_token(gossip::Reader& in) {
  entry::EndAccessToken fact;
  fact.id = in.id<AccessTokenId>();
  fact.by = read_subject(in);
  return fact;
}

void write(gossip::Encoder& out, const entry::ResetAdmin& fact) {
  out.text(fact.admin);
  write(out, fact.key);
  write(out, fact.by);
}

entry::ResetAdmin read_reset_admin(gossip::Reader& in) {
  entry::ResetAdmin fact;
  fact.admin = in.text(kUserNameBytesMax);
  fact.key = read_key_line(in);
  fact.by = read_subject(in);
  return fact;
}

}  // namespace muster::scheduler
