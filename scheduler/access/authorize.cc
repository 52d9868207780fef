#include "scheduler/access/authorize.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "gossip/base/enum_table.h"
#include "gossip/base/mutant.h"

namespace muster::scheduler {
namespace {

/// The objects over which a role has a right.
enum class Reach : std::uint8_t {
  kNone,
  kOwn,   ///< The user's own jobs.
  kTeam,  ///< Jobs of the user's teams, and own ones.
  kAll,
};

/// For each right the reach of each role, and the words for what the right permits.
struct RightRow {
  Right right{};
  Reach viewer{}, user{}, lead{}, op{}, admin{};
  std::string_view does;
};
using enum Right;
using enum Reach;
constexpr RightRow kTable[] = {
    {kMaySee, kAll, kAll, kAll, kAll, kAll, "see the hosts"},
    {kMaySeeJobs, kAll, kAll, kAll, kAll, kAll, "see the jobs"},
    {kMayReadOutput, kNone, kOwn, kTeam, kNone, kAll, "read its output and its command"},
    {kMaySubmit, kNone, kTeam, kTeam, kNone, kAll, "submit jobs"},
    {kMayOrderJobs, kNone, kOwn, kTeam, kAll, kAll, "change it"},
    {kMayPrioritise, kNone, kOwn, kTeam, kAll, kAll, "set its priority"},
    {kMayOperate, kNone, kNone, kNone, kAll, kAll, "operate the hosts"},
    {kMayManageUsers, kNone, kNone, kTeam, kNone, kAll, "change users and teams"},
    {kMayMakeTokens, kOwn, kOwn, kOwn, kOwn, kAll, "see or revoke it"},
    {kMayRule, kNone, kNone, kNone, kNone, kAll, "do that"},
};
static_assert(has_row_for_each(kTable, &RightRow::right));

constexpr std::size_t kNamedMax = 3;

Reach reach_of(UserRole role, const RightRow& row) {
  switch (role) {
    case UserRole::kNone:
      return kNone;
    case UserRole::kViewer:
      return row.viewer;
    case UserRole::kUser:
      return row.user;
    case UserRole::kLead:
      return row.lead;
    case UserRole::kOperator:
      return mutant(Mutant::kOperatorRules) ? row.admin : row.op;
    case UserRole::kAdmin:
      return row.admin;
  }
  return kNone;
}

bool is_job(const AccessObject& object) {
  return !object.owner.empty() || !object.team.empty();
}

bool covers(Reach reach, const Directory& directory, const std::string& user, Right right,
            const AccessObject& object) {
  const bool is_own = !user.empty() && object.owner == user;
  switch (reach) {
    case kNone:
      return false;
    case kOwn:
      return is_own || mutant(Mutant::kOwnerIgnored);
    case kTeam:
      // The owner of a job that is not yet there is its submitter: the team alone decides.
      return (is_own && right != kMaySubmit) || directory.is_in_team(user, object.team) ||
             mutant(Mutant::kTeamIgnored);
    case kAll:
      return true;
  }
  return false;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

/// "; a lead of team vision (ann) or an admin (carol) can"
std::string who_could(const Directory& directory, const RightRow& row, const AccessObject& object) {
  std::vector<std::string> could;
  const auto add = [&](UserRole role, std::string what) {
    const std::vector<std::string> names = directory.bearers(role, kNamedMax);
    if (!names.empty()) {
      could.push_back(std::move(what) + " (" + joined(names) + ")");
    }
  };
  if (row.user == kOwn && !object.owner.empty()) {
    could.push_back("user " + object.owner);
  }
  if (row.lead == kTeam && !object.team.empty() && row.right != kMaySubmit) {
    if (const std::string lead = directory.lead_of(object.team); !lead.empty()) {
      could.push_back("a lead of team " + object.team + " (" + lead + ")");
    }
  }
  if (row.op == kAll) {
    add(UserRole::kOperator, "an operator");
  }
  add(UserRole::kAdmin, "an admin");
  return could.empty() ? "" : ": " + joined(could) + " can";
}

std::string whose(const AccessObject& object) {
  if (object.name.empty()) {
    return "";
  }
  return object.name + (object.owner.empty() ? "" : " of user " + object.owner) +
         (object.team.empty() ? "" : ", team " + object.team);
}

std::string stranger(const Directory& directory, const std::string& user) {
  const std::vector<std::string> admins = directory.bearers(UserRole::kAdmin, kNamedMax);
  return "user " + user + " has no role in this cluster" +
         (admins.empty() ? ""
                         : ": ask an admin (" + joined(admins) +
                               ") to add you with `muster "
                               "user add " +
                               user + "`");
}

/// "the access token ci": the beginning of a sentence about it.
std::string named(const TokenRecord& token) {
  return "the access token " + token.label;
}

std::string why_not_made_for(const TokenRecord& token, bool is_permitted, std::string_view right) {
  return is_permitted ? ""
                      : named(token) + " was made without `--may " + std::string(right) +
                            "`: make another one (muster token create)";
}

}  // namespace

std::string why_token_denied(const Directory& directory, const Subject& by, Duration cluster_time,
                             Right right, const AccessObject& object) {
  if (by.token.is_zero()) {
    return "";
  }
  const TokenRecord* token = directory.tokens().find(by.token);
  if (token == nullptr) {
    return kTokenUnknown;
  }
  if (token->user != by.user) {
    return named(*token) + " is not one of user " + by.user;
  }
  if (token->has_ended(cluster_time) && !mutant(Mutant::kTokenOutlivesItself)) {
    return named(*token) + " has expired: make another one (muster token create)";
  }
  if (mutant(Mutant::kTokenOfAnyRight)) {
    return "";
  }
  switch (right) {
    case kMaySee:
    case kMaySeeJobs:
    case kMayReadOutput:
      return why_not_made_for(*token, token->rights.may_read, "read");
    case kMayOrderJobs:
      if (object.owner != token->user) {
        return named(*token) + " changes only jobs of user " + token->user;
      }
      return why_not_made_for(*token, token->rights.may_submit, "submit");
    case kMaySubmit:
      if (!token->team.empty() && object.team != token->team) {
        return named(*token) + " submits only for team " + token->team;
      }
      return why_not_made_for(*token, token->rights.may_submit, "submit");
    case kMayPrioritise:
    case kMayOperate:
    case kMayManageUsers:
    case kMayMakeTokens:
    case kMayRule:
      break;
  }
  return "no access token permits that: do it in your own name, without MUSTER_ACCESS and "
         "--access-file";
}

std::string why_denied(const Directory& directory, const std::string& user, Right right,
                       const AccessObject& object) {
  const RightRow* row = find_row(kTable, &RightRow::right, right);
  if (row == nullptr || user.empty()) {
    return "nobody is known to ask that";
  }
  if (!directory.is_founded()) {
    return "the cluster is being founded: repeat in a moment";
  }
  const User known = directory.user(user);
  if (known.role == UserRole::kNone) {
    return stranger(directory, user);
  }
  Reach reach = reach_of(known.role, *row);
  const bool sees_own_teams = directory.rules().hides_other_teams && right == kMaySeeJobs &&
                              is_job(object) && known.role <= UserRole::kLead &&
                              !mutant(Mutant::kHiddenTeamsShown);
  if (sees_own_teams && reach == kAll) {
    reach = kTeam;
  }
  if (right == kMaySubmit && reach != kNone && !directory.has_team(object.team)) {
    return "there is no team " + object.team + ": see `muster team list`";
  }
  if (!covers(reach, directory, user, right, object)) {
    if (right == kMaySubmit && reach == kTeam) {
      return "user " + user + " is not in team " + object.team + ": a lead or an admin can add " +
             user + " with `muster user set " + user + " --join " + object.team + "`";
    }
    const bool is_hidden = directory.rules().hides_other_teams && is_job(object) &&
                           known.role <= UserRole::kLead && object.owner != user &&
                           !directory.is_in_team(user, object.team);
    const AccessObject told = is_hidden ? AccessObject{object.name, {}, {}} : object;
    const std::string about = whose(told);
    return (about.empty() ? "" : about + ": ") + "user " + user + " (role " +
           std::string(text_of(known.role)) + ") may not " + std::string(row->does) +
           who_could(directory, *row, told);
  }
  const bool has_ceiling =
      reach != kAll && object.priority.has_value() && !mutant(Mutant::kCeilingIgnored);
  const std::int32_t ceiling = directory.team(object.team).priority_max;
  if (has_ceiling && *object.priority > ceiling) {
    return "the highest priority of team " + object.team + " is " + std::to_string(ceiling);
  }
  return "";
}

std::string why_denied(const Directory& directory, const std::string& user,
                       const DirectoryChange& change) {
  if (const std::string why = why_denied(directory, user, kMayRule, {}); why.empty()) {
    return "";
  }
  const User known = directory.user(user);
  if (known.role == UserRole::kLead && mutant(Mutant::kLeadGivesRoles)) {
    return "";
  }
  if (!directory.is_founded() || known.role != UserRole::kLead || change.changes_rules() ||
      !change.teams.empty()) {
    return why_denied(directory, user, change.changes_rules() ? kMayRule : kMayManageUsers,
                      {.name = {}, .owner = {}, .team = {}});
  }
  for (const UserChange& each : change.users) {
    if (each.is_removal || each.role.has_value() || !each.keys_removed.empty() ||
        !each.keys_added.empty()) {
      return "a lead adds users to a team and takes them out of it: an admin (" +
             joined(directory.bearers(UserRole::kAdmin, kNamedMax)) +
             ") gives roles and keys, and removes users";
    }
    if (each.joins.empty() && !directory.has_record(each.name)) {
      return "a lead adds a user to the cluster by adding it to a team: name one with --team";
    }
    for (const auto* teams : {&each.joins, &each.leaves}) {
      for (const std::string& team : *teams) {
        if (!directory.is_in_team(user, team)) {
          return "user " + user + " does not lead team " + team + ": an admin (" +
                 joined(directory.bearers(UserRole::kAdmin, kNamedMax)) + ") can change it";
        }
      }
    }
  }
  return "";
}

}  // namespace muster::scheduler
