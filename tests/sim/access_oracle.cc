#include "tests/sim/access_oracle.h"

namespace muster::sim {
namespace {

using agent::Verb;

/// The columns of the table, in its words.
enum class Column : std::uint8_t {
  kEverybody,  ///< Hosts, voters, keys, versions, the own name: no role is needed.
  kOwnHost,    ///< A host about itself, for its own logins; elsewhere for roles.
  kLook,       ///< Hosts, events, quorum: every role.
  kJobs,       ///< Jobs, their reasons, the use of GPUs.
  kOneJob,     ///< The same of one job.
  kOutput,
  kSubmit,
  kOrderJob,
  kPriority,
  kOperate,
  kUsers,
  kRule,
  kOwnersOnly,     ///< Root of the host, or an administrator through its host.
  kTickets,        ///< No login: only the bearer of a ticket, or an agent for itself.
  kTokens,         ///< Own access tokens.
  kRootsOfVoters,  ///< Root of a voter alone, whatever roles there are.
};

struct ColumnRow {
  Verb verb{};
  Column column{};
};
constexpr ColumnRow kColumns[] = {
    {Verb::kVersion, Column::kEverybody},  {Verb::kHosts, Column::kEverybody},
    {Verb::kQuorum, Column::kEverybody},   {Verb::kWhyHost, Column::kEverybody},
    {Verb::kHostUses, Column::kEverybody}, {Verb::kKeys, Column::kEverybody},
    {Verb::kWhoami, Column::kEverybody},   {Verb::kHttpRoot, Column::kEverybody},
    {Verb::kFound, Column::kEverybody},    {Verb::kEnter, Column::kEverybody},
    {Verb::kEvents, Column::kOwnHost},     {Verb::kStats, Column::kOwnHost},
    {Verb::kHostDetail, Column::kOwnHost}, {Verb::kTickets, Column::kLook},
    {Verb::kUsers, Column::kLook},         {Verb::kAudit, Column::kLook},
    {Verb::kGpus, Column::kLook},          {Verb::kGpuBoard, Column::kLook},
    {Verb::kQueues, Column::kLook},        {Verb::kShares, Column::kLook},
    {Verb::kMakeToken, Column::kTokens},   {Verb::kEndToken, Column::kTokens},
    {Verb::kTokens, Column::kTokens},      {Verb::kJobs, Column::kJobs},
    {Verb::kUsage, Column::kJobs},         {Verb::kShow, Column::kOneJob},
    {Verb::kWhy, Column::kOneJob},         {Verb::kOutput, Column::kOutput},
    {Verb::kSubmit, Column::kSubmit},      {Verb::kDryRun, Column::kSubmit},
    {Verb::kCancel, Column::kOrderJob},    {Verb::kSuspend, Column::kOrderJob},
    {Verb::kResume, Column::kOrderJob},    {Verb::kRequeue, Column::kOrderJob},
    {Verb::kEdit, Column::kPriority},      {Verb::kFence, Column::kOperate},
    {Verb::kDrain, Column::kOperate},      {Verb::kUndrain, Column::kOperate},
    {Verb::kRemoveHost, Column::kOperate}, {Verb::kEndTicket, Column::kOperate},
    {Verb::kMaskGpu, Column::kOperate},    {Verb::kUnmaskGpu, Column::kOperate},
    {Verb::kSetQueues, Column::kOperate},  {Verb::kMakeTicket, Column::kOperate},
    {Verb::kLeave, Column::kOwnersOnly},   {Verb::kChangeUsers, Column::kUsers},
    {Verb::kChangeQuorum, Column::kRule},  {Verb::kRecover, Column::kRule},
    {Verb::kRevokeHost, Column::kRule},    {Verb::kRotateKeys, Column::kRule},
    {Verb::kSetHost, Column::kRule},       {Verb::kResetAdmin, Column::kRootsOfVoters},
    {Verb::kJoin, Column::kTickets},       {Verb::kCertify, Column::kTickets},
};

static_assert(has_row_for_each(kColumns, &ColumnRow::verb));

Column plain_column_of(Verb verb) {
  const ColumnRow* row = find_row(kColumns, &ColumnRow::verb, verb);
  return row == nullptr ? Column::kTickets : row->column;
}

Column column_of(Verb verb, Variant variant) {
  const bool is_ruling = verb == Verb::kMakeTicket && variant == Variant::kWithRights;
  return is_ruling ? Column::kRule : plain_column_of(verb);
}

bool is_boss(Person person) {
  return person == Person::kOfficer || person == Person::kAdmin;
}

/// The table itself: a request that comes through a host whose word counts.
bool has_right(const AccessCell& cell) {
  const Person person = cell.person;
  const bool is_own = cell.relation == Relation::kOwn;
  const bool is_team = cell.relation != Relation::kOther;
  const bool is_high = cell.variant == Variant::kHighPriority;
  switch (column_of(cell.verb, cell.variant)) {
    case Column::kEverybody:
      return true;
    case Column::kTickets:
    case Column::kRootsOfVoters:
      return false;
    case Column::kOwnHost:
    case Column::kLook:
    case Column::kJobs:
    case Column::kTokens:
      return person != Person::kStranger;
    case Column::kOneJob:
      return person != Person::kStranger && (!cell.hides_other_teams || is_team || is_boss(person));
    case Column::kOutput:
      return person == Person::kAdmin || (person == Person::kUser && is_own) ||
             (person == Person::kLead && is_team);
    case Column::kSubmit:
      return person == Person::kAdmin ||
             ((person == Person::kUser || person == Person::kLead) && is_team && !is_high);
    case Column::kOrderJob:
      return is_boss(person) || (person == Person::kUser && is_own) ||
             (person == Person::kLead && is_team);
    case Column::kPriority:
      return is_boss(person) || (person == Person::kUser && is_own && !is_high) ||
             (person == Person::kLead && is_team && !is_high);
    case Column::kOperate:
    case Column::kOwnersOnly:
      return is_boss(person);
    case Column::kUsers:
      return person == Person::kAdmin ||
             (person == Person::kLead && cell.variant == Variant::kPlain);
    case Column::kRule:
      return person == Person::kAdmin;
  }
  return false;
}

/// A request that another host carries on, or that comes in at a host whose word does not count.
bool is_for_everybody(const AccessCell& cell) {
  return column_of(cell.verb, cell.variant) == Column::kEverybody;
}

/// The cells of the table that say "signed". Changes of voters and recoveries are in its column of
/// rules, but GUIDE.md says that the word of a host that may vouch and vote is enough for them.
bool has_to_be_signed(const AccessCell& cell) {
  const Column column = column_of(cell.verb, cell.variant);
  const bool is_exempt = cell.verb == Verb::kChangeQuorum || cell.verb == Verb::kRecover;
  return cell.has_keys && cell.person == Person::kAdmin && !is_exempt &&
         (column == Column::kUsers || column == Column::kRule);
}

/// A signature is looked at: it is wrong if it does not fit, though a lead needs none.
bool may_be_signed(const AccessCell& cell) {
  return has_to_be_signed(cell) ||
         (cell.person == Person::kLead && column_of(cell.verb, cell.variant) == Column::kUsers);
}

bool has_right_unsigned(const AccessCell& cell) {
  return has_right(cell) && !has_to_be_signed(cell);
}

/// A token does nothing beyond its rights, nor beyond those of its maker. A stranger has none.
bool token_may(const AccessCell& cell, bool may_read, bool may_submit) {
  switch (column_of(cell.verb, cell.variant)) {
    case Column::kEverybody:
      // An answer to everybody by the host that is asked needs no token.
      if (cell.verb != Verb::kQuorum && cell.verb != Verb::kHostUses) {
        return true;
      }
      [[fallthrough]];
    case Column::kOwnHost:
    case Column::kLook:
    case Column::kJobs:
    case Column::kOneJob:
    case Column::kOutput:
      return may_read && has_right(cell) && cell.person != Person::kStranger;
    case Column::kSubmit:
      return may_submit && has_right(cell);
    case Column::kOrderJob:
      return may_submit && has_right(cell) && cell.relation == Relation::kOwn;
    case Column::kPriority:
    case Column::kOperate:
    case Column::kUsers:
    case Column::kRule:
    case Column::kOwnersOnly:
    case Column::kTickets:
    case Column::kTokens:
    case Column::kRootsOfVoters:
      return false;
  }
  return false;
}

/// The named host has the answer itself.
bool is_answered_by_each(Verb verb) {
  return verb == Verb::kEvents || verb == Verb::kStats || verb == Verb::kRecover ||
         verb == Verb::kLeave || verb == Verb::kGpuBoard;
}

}  // namespace

std::string name_of(Person person) {
  switch (person) {
    case Person::kStranger:
      return "stranger";
    case Person::kViewer:
      return "vera";
    case Person::kUser:
      return "uma";
    case Person::kLead:
      return "leo";
    case Person::kOfficer:
      return "oscar";
    case Person::kAdmin:
      return "ada";
  }
  return "";
}

std::string text_of(Relation relation) {
  return relation == Relation::kOwn ? "own" : relation == Relation::kTeam ? "team" : "other";
}

std::string text_of(Way way) {
  switch (way) {
    case Way::kVouching:
      return "vouching host";
    case Way::kAnother:
      return "another host";
    case Way::kThrough:
      return "vouching host --node vouching host";
    case Way::kThroughOther:
      return "vouching host --node another host";
    case Way::kFromAnother:
      return "another host --node vouching host";
    case Way::kToken:
      return "a token at another host";
    case Way::kReadToken:
      return "a token for reading";
    case Way::kTeamToken:
      return "a token for submitting for one team";
    case Way::kNobody:
      return "nobody";
    case Way::kSigned:
      return "vouching host, signed";
    case Way::kSignedThrough:
      return "vouching host --node vouching host, signed";
    case Way::kSignedAtOther:
      return "another host, signed";
    case Way::kSignedToken:
      return "a token at another host, signed";
    case Way::kSignedByOther:
      return "vouching host, signed by another person";
    case Way::kSignedForOther:
      return "vouching host, signed in the name of another person";
    case Way::kSignedBefore:
      return "vouching host, signed under an old number";
  }
  return "";
}

std::string text_of(const AccessCell& cell) {
  const agent::VerbRow* row = agent::find_verb(cell.verb);
  return std::string(row == nullptr ? "?" : row->name) + " variant " +
         std::to_string(static_cast<int>(cell.variant)) + " by " + name_of(cell.person) + " of " +
         text_of(cell.relation) + " through " + text_of(cell.way) +
         (cell.hides_other_teams ? ", jobs=team" : "") + (cell.has_keys ? ", with keys" : "");
}

namespace {

/// A request at a vouching host under a signature that does not fit.
Expected expected_of_misfit(const AccessCell& cell, Expected misfit) {
  return !has_right(cell) ? Expected::kDenied : may_be_signed(cell) ? misfit : Expected::kAllowed;
}

}  // namespace

Expected expected(const AccessCell& cell) {
  const auto say = [](bool allowed) { return allowed ? Expected::kAllowed : Expected::kDenied; };
  const Column column = column_of(cell.verb, cell.variant);
  switch (cell.way) {
    case Way::kNobody:
      return Expected::kNoAnswer;
    case Way::kVouching:
      // A login may look at its own host without a role.
      return say(has_right_unsigned(cell) || (column == Column::kOwnHost));
    case Way::kSigned:
      return say(has_right(cell) || (column == Column::kOwnHost));
    case Way::kSignedByOther:
    case Way::kSignedForOther:
      return column == Column::kOwnHost ? Expected::kAllowed
                                        : expected_of_misfit(cell, Expected::kDenied);
    case Way::kSignedBefore:
      return column == Column::kOwnHost ? Expected::kAllowed
                                        : expected_of_misfit(cell, Expected::kSignAgain);
    case Way::kAnother:
    case Way::kSignedAtOther:
      return say(is_for_everybody(cell) || column == Column::kOwnHost);
    case Way::kThrough:
      // A ticket is made where its maker logs in.
      return say(has_right_unsigned(cell) && cell.verb != Verb::kMakeTicket);
    case Way::kSignedThrough:
      return say(has_right(cell) && cell.verb != Verb::kMakeTicket);
    case Way::kThroughOther:
      // The named host answers for itself; what it has to pass on counts through its own word.
      return say(is_for_everybody(cell) || (is_answered_by_each(cell.verb) && has_right(cell)));
    case Way::kFromAnother:
      return say(is_for_everybody(cell));
    case Way::kToken:
    case Way::kSignedToken:
      return say(token_may(cell, true, true));
    case Way::kReadToken:
      return say(token_may(cell, true, false));
    case Way::kTeamToken:
      return say(token_may(cell, false, true) &&
                 (column != Column::kSubmit || cell.relation != Relation::kOther));
  }
  return Expected::kDenied;
}

std::vector<Variant> variants_of(agent::Verb verb) {
  if (verb == agent::Verb::kSubmit || verb == agent::Verb::kDryRun || verb == agent::Verb::kEdit) {
    return {Variant::kPlain, Variant::kHighPriority};
  }
  if (verb == agent::Verb::kMakeTicket || verb == agent::Verb::kRecover) {
    return {Variant::kPlain, Variant::kWithRights};
  }
  if (verb == agent::Verb::kChangeUsers) {
    return {Variant::kPlain, Variant::kGivesRole, Variant::kOtherTeam, Variant::kRules};
  }
  return {Variant::kPlain};
}

}  // namespace muster::sim
