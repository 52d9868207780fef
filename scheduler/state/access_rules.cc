#include "scheduler/state/access_rules.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "gossip/base/mutant.h"
#include "gossip/base/name.h"
#include "gossip/base/signing.h"
#include "scheduler/access/authorize.h"

namespace muster::scheduler {
namespace {

constexpr char kBeingFounded[] = "the cluster is being founded: repeat in a moment";

AccessObject object_of(const JobSpec& spec, JobId id) {
  return {"job " + text_of(id), spec.user, spec.team};
}

AccessObject token_object(AccessTokenId id, const std::string& owner) {
  return {"access token " + id.short_hex(), owner, ""};
}

/// nullopt if there is no such job: the rule of the entry says so.
std::optional<AccessObject> job_object(const Books& books, JobId id) {
  if (const Job* job = books.jobs.find(id)) {
    return object_of(job->spec, id);
  }
  const TaskArray* array = books.arrays.find(array_of(id));
  return array == nullptr ? std::nullopt : std::optional(object_of(array->spec, id));
}

bool sets_more_than_priority(const entry::Edit& fact) {
  return fact != entry::Edit{fact.job, fact.priority, fact.by};
}

/// Asks the gate for one entry. An entry without an overload is one that a leader makes by itself.
struct Gate {
  const Books& books;
  const std::vector<HostId>& voters;

  std::string operator()(const entry::Submit& fact) const {
    if (!fact.by.user.empty() && fact.spec.user != fact.by.user) {
      return "user " + fact.by.user + " cannot submit a job of user " + fact.spec.user;
    }
    AccessObject object;
    object.owner = fact.by.user;
    object.team =
        fact.spec.team.empty() ? books.directory.first_team(fact.by.user) : fact.spec.team;
    object.priority = fact.spec.priority;
    return ask(fact.by, Right::kMaySubmit, object);
  }
  std::string operator()(const entry::Cancel& fact) const { return ask_about(fact); }
  std::string operator()(const entry::Suspend& fact) const { return ask_about(fact); }
  std::string operator()(const entry::Resume& fact) const { return ask_about(fact); }
  // The leader itself queues the jobs of a drained host again.
  std::string operator()(const entry::Requeue& fact) const {
    return fact.by.user.empty() ? "" : ask_about(fact);
  }
  std::string operator()(const entry::Edit& fact) const {
    auto object = job_object(books, fact.job);
    if (!object.has_value()) {
      return "";
    }
    const std::string why =
        sets_more_than_priority(fact) ? ask(fact.by, Right::kMayOrderJobs, *object) : "";
    object->priority = fact.priority;
    return why.empty() && !fact.keeps_priority ? ask(fact.by, Right::kMayPrioritise, *object) : why;
  }
  std::string operator()(const entry::Fence& fact) const { return ask_operator(fact.by); }
  std::string operator()(const entry::Drain& fact) const { return ask_operator(fact.by); }
  std::string operator()(const entry::Undrain& fact) const { return ask_operator(fact.by); }
  std::string operator()(const entry::RemoveHost& fact) const { return ask_operator(fact.by); }
  std::string operator()(const entry::EndTicket& fact) const { return ask_operator(fact.by); }
  std::string operator()(const entry::GpuOrder& fact) const { return ask_operator(fact.by); }
  std::string operator()(const entry::SetQueues& fact) const { return ask_operator(fact.by); }
  std::string operator()(const entry::MakeTicket& fact) const {
    const bool brings_rights =
        (fact.may_vote || fact.may_vouch) && !mutant(Mutant::kTicketRightsUnasked);
    return ask(fact.by, brings_rights ? Right::kMayRule : Right::kMayOperate, {});
  }
  std::string operator()(const entry::ChangeDirectory& fact) const {
    const std::string unproven = why_unproven(fact.by, Right::kMayManageUsers, {});
    return unproven.empty() ? why_denied(books.directory, fact.by.user, fact.change) : unproven;
  }
  std::string operator()(const entry::MakeAccessToken& fact) const {
    return ask(fact.by, Right::kMayMakeTokens, token_object(fact.id, fact.by.user));
  }
  std::string operator()(const entry::EndAccessToken& fact) const {
    const TokenRecord* token = books.directory.tokens().find(fact.id);
    // The rule of the entry says that there is no such token.
    return ask(fact.by, Right::kMayMakeTokens,
               token_object(fact.id, token == nullptr ? fact.by.user : token->user));
  }
  std::string operator()(const entry::ResetAdmin& fact) const {
    const Subject& by = fact.by;
    const bool votes = std::find(voters.begin(), voters.end(), by.host) != voters.end() ||
                       mutant(Mutant::kResetByAnyHost);
    if (by.user.empty() || !by.token.is_zero()) {
      return "only root of a host that votes resets the administrators";
    }
    return votes ? ""
                 : "the host of " + by.name +
                       " does not vote: reset the administrators on a voter (muster quorum)";
  }
  // The leader records a join and a rotation by itself, without a person.
  std::string operator()(const entry::Enrol& fact) const { return ask_ruler(fact.by); }
  std::string operator()(const entry::RotateKeys& fact) const { return ask_ruler(fact.by); }
  std::string operator()(const entry::ReplaceAuthority& fact) const { return ask_ruler(fact.by); }
  template <class T>
  std::string operator()(const T&) const {
    return "";
  }

 private:
  std::string why_unproven(const Subject& by, Right right, const AccessObject& object) const {
    if (by.user.empty()) {
      return "no person is known to ask that";
    }
    if (!by.token.is_zero()) {
      return why_token_denied(books.directory, by, books.cluster_time, right, object);
    }
    return books.roll.is_denied_tickets(by.host)
               ? "the host of " + by.name + " may not vouch for its logins"
               : "";
  }
  std::string ask(const Subject& by, Right right, const AccessObject& object) const {
    const std::string unproven = why_unproven(by, right, object);
    return unproven.empty() ? why_denied(books.directory, by.user, right, object) : unproven;
  }
  template <class T>
  std::string ask_about(const T& fact) const {
    const auto object = job_object(books, fact.job);
    return object.has_value() ? ask(fact.by, Right::kMayOrderJobs, *object) : "";
  }
  std::string ask_operator(const Subject& by) const { return ask(by, Right::kMayOperate, {}); }
  std::string ask_ruler(const Subject& by) const {
    return by.user.empty() ? "" : ask(by, Right::kMayRule, {});
  }
};

/// `what` is a literal: an event does not own its name.
void tell(Step& step, std::string_view what, const std::string& name, std::string value,
          const Subject& by) {
  step.result.events.push_back({Severity::kInfo,
                                what,
                                {{what.starts_with("user") ? "user" : "team", name},
                                 {"change", std::move(value)},
                                 {"by", by.name}}});
}

std::string text_of_change(const UserChange& change) {
  if (change.is_removal) {
    return "removed";
  }
  std::string text = change.role.has_value() ? "role " + std::string(text_of(*change.role)) : "";
  for (const std::string& team : change.joins) {
    text += (text.empty() ? "joins " : ", joins ") + team;
  }
  for (const std::string& team : change.leaves) {
    text += (text.empty() ? "leaves " : ", leaves ") + team;
  }
  for (std::size_t i = 0; i < change.keys_removed.size(); ++i) {
    text += text.empty() ? "loses a key" : ", loses a key";
  }
  for (const gossip::SshKeyLine& line : change.keys_added) {
    text += (text.empty() ? "gets key " : ", gets key ") + line.comment;
  }
  return text.empty() ? "added" : text;
}

std::string text_of_change(const TeamChange& change) {
  return change.is_removal ? "removed"
         : change.priority_max.has_value()
             ? "highest priority " + std::to_string(*change.priority_max)
             : "added";
}

}  // namespace

bool is_admin_name(const std::string& name) {
  return !name.empty() && name.size() <= kUserNameBytesMax && is_line_name(name);
}

bool is_token_label(const std::string& label) {
  return !label.empty() && label.size() <= kTokenLabelBytesMax && is_line_name(label);
}

std::string why_denied(const Books& books, const Entry& entry, const std::vector<HostId>& voters) {
  return books.directory.is_founded() ? std::visit(Gate{books, voters}, entry) : "";
}

void on_found_directory(Step& step, const entry::FoundDirectory& fact) {
  if (step.books.directory.is_founded()) {
    return;  // Another founder was first.
  }
  if (!is_admin_name(fact.admin)) {
    step.reject(ErrorCode::kInvalid, "the first administrator has no valid name");
    return;
  }
  step.books.directory.found(fact, step.index);
  step.result.events.push_back(
      {Severity::kInfo, "user_changed", {{"user", fact.admin}, {"change", "first administrator"}}});
}

void on_change_directory(Step& step, const entry::ChangeDirectory& fact) {
  if (!step.books.directory.is_founded()) {
    step.reject(ErrorCode::kUnavailable, kBeingFounded);
    return;
  }
  if (const Status done = step.books.directory.change(fact.change, step.index); !done) {
    step.reject(done.error().code, done.error().text);
    return;
  }
  for (const TeamChange& team : fact.change.teams) {
    tell(step, "team_changed", team.name, text_of_change(team), fact.by);
  }
  for (const UserChange& user : fact.change.users) {
    tell(step, "user_changed", user.name, text_of_change(user), fact.by);
  }
  if (fact.change.changes_rules()) {
    step.result.events.push_back({Severity::kWarn, "access_changed", {{"by", fact.by.name}}});
  }
}

void on_make_access_token(Step& step, const entry::MakeAccessToken& fact) {
  Books& books = step.books;
  const bool is_valid = !fact.id.is_zero() && fact.hash.size() == gossip::kSha256Bytes &&
                        fact.ttl > Duration::zero() && fact.ttl <= kTokenTtlMax &&
                        (fact.rights.may_read || fact.rights.may_submit) &&
                        is_token_label(fact.label) && !fact.by.user.empty();
  if (!is_valid) {
    step.reject(ErrorCode::kInvalid,
                "an access token has a name of 1 to " + std::to_string(kTokenLabelBytesMax) +
                    " bytes, lives for at most a year, and may submit, read, or do both");
    return;
  }
  if (!books.directory.is_founded()) {
    step.reject(ErrorCode::kUnavailable, kBeingFounded);
    return;
  }
  const TokenRecord record{fact.hash,   fact.by.user, fact.label,
                           fact.rights, fact.team,    books.cluster_time + fact.ttl};
  if (const Status done = books.directory.make_token(fact.id, record, books.cluster_time); !done) {
    step.reject(done.error().code, done.error().text);
    return;
  }
  step.result.events.push_back(
      {Severity::kInfo,
       "access_token_made",
       {{"token", fact.id.short_hex()}, {"for", fact.label}, {"by", fact.by.name}}});
}

void on_end_access_token(Step& step, const entry::EndAccessToken& fact) {
  if (!step.books.directory.end_token(fact.id)) {
    step.reject(ErrorCode::kNotFound, "there is no such access token: see `muster token list`");
    return;
  }
  step.result.events.push_back({Severity::kInfo,
                                "access_token_ended",
                                {{"token", fact.id.short_hex()}, {"by", fact.by.name}}});
}

/// The alarm is the matter of every host, not only of voters: agent/front/reset_watch.h.
void on_reset_admin(Step& step, const entry::ResetAdmin& fact) {
  Books& books = step.books;
  if (!books.directory.is_founded()) {
    step.reject(ErrorCode::kUnavailable, kBeingFounded);
    return;
  }
  if (!is_admin_name(fact.admin)) {
    step.reject(ErrorCode::kInvalid, "the administrator has no valid name");
    return;
  }
  const AdminReset reset{books.epochs.counter(), step.index, fact.admin, fact.by.name};
  if (const Status done = books.directory.reset_admin(fact.key, reset); !done) {
    step.reject(done.error().code, done.error().text);
    return;
  }
  tell(step, "user_changed", fact.admin, "the only admin with a key, by reset", fact.by);
}

}  // namespace muster::scheduler
