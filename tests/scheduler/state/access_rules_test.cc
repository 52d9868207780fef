#include "scheduler/state/access_rules.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/state/audit_snapshot.h"
#include "scheduler/state/state.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using testing::host_id;

constexpr const char* kRoles[] = {"viewer", "user", "lead", "operator", "admin"};

Subject person(const std::string& user, std::uint64_t host = 1) {
  return {user + "@n", user, host_id(host)};
}

/// A log with users named as their roles, all in team vision, and two waiting jobs: job 1 of user
/// "user" in team vision, job 2 of "eve" in team speech. Host 1 may vouch, host 2 may not.
class Founded {
 public:
  Founded() {
    const auto enrol = [&](std::uint64_t host, bool may_vouch) {
      entry::Enrol fact;
      fact.host = host_id(host);
      fact.authority = 1;
      fact.edition = 1;
      fact.record = "record";
      fact.may_vouch = may_vouch;
      apply(fact);
    };
    enrol(1, true);
    enrol(2, false);
    apply(testing::registration(3, 1));
    apply(entry::FoundDirectory{"admin"});
    DirectoryChange change;
    change.teams = {{"vision"}, {"speech"}};
    for (const char* role : kRoles) {
      change.users.push_back({role, false, role_of(role), {"vision"}, {}});
    }
    change.users.push_back({"eve", false, UserRole::kUser, {"speech"}, {}});
    apply(entry::ChangeDirectory{change, person("admin")});
    apply(submit("user", "one"));
    apply(submit("eve", "two"));
  }

  ApplyResult apply(Entry entry) {
    return state.apply(state.applied().next(), std::move(entry), 0);
  }
  static entry::Submit submit(const std::string& user, const std::string& key,
                              const std::string& team = "") {
    entry::Submit fact = testing::submission(key, 1);
    fact.spec.user = user;
    fact.spec.team = team;
    fact.by = person(user);
    return fact;
  }

  State state;
};

/// The entries that a person may order, about a job if they are about one, and the roles that may
/// order them for an own job, one of their team, and another one. Written from the table of access.
struct OrderRow {
  const char* name;
  Entry (*make)(JobId job, Subject by);
  std::vector<std::string> own, team, other;
};

Entry enrolment(JobId, Subject by) {
  entry::Enrol fact;
  fact.host = host_id(1);
  fact.authority = 1;
  fact.edition = 2;
  fact.record = "another";
  fact.may_vouch = true;
  fact.by = std::move(by);
  return fact;
}

const std::vector<std::string> kNobody = {};
const std::vector<std::string> kAdmin = {"admin"};
const std::vector<std::string> kOperators = {"operator", "admin"};
const std::vector<std::string> kLeads = {"lead", "operator", "admin"};
const std::vector<std::string> kUsers = {"user", "lead", "operator", "admin"};

const OrderRow kOrderRows[] = {
    {"cancel",
     [](JobId job, Subject by) -> Entry {
       return entry::Cancel{job, by};
     },
     kUsers, kLeads, kOperators},
    {"suspend",
     [](JobId job, Subject by) -> Entry {
       return entry::Suspend{job, by};
     },
     kUsers, kLeads, kOperators},
    {"resume",
     [](JobId job, Subject by) -> Entry {
       return entry::Resume{job, by};
     },
     kUsers, kLeads, kOperators},
    {"requeue",
     [](JobId job, Subject by) -> Entry {
       return entry::Requeue{job, 0, by};
     },
     kUsers, kLeads, kOperators},
    {"priority",
     [](JobId job, Subject by) -> Entry {
       return entry::Edit{job, 100, by};
     },
     kUsers, kLeads, kOperators},
    {"time limit",
     [](JobId job, Subject by) -> Entry {
       return entry::Edit{job, 101, by, true, "", Tier::kNone, std::chrono::hours(1)};
     },
     kUsers, kLeads, kOperators},
    {"high priority and time limit",
     [](JobId job, Subject by) -> Entry {
       return entry::Edit{job, 101, by, false, "", Tier::kNone, std::chrono::hours(1)};
     },
     kOperators, kOperators, kOperators},
    {"high priority",
     [](JobId job, Subject by) -> Entry {
       return entry::Edit{job, 101, by};
     },
     kOperators, kOperators, kOperators},
    {"fence",
     [](JobId, Subject by) -> Entry {
       return entry::Fence{host_id(3), by};
     },
     kOperators, kOperators, kOperators},
    {"drain",
     [](JobId, Subject by) -> Entry {
       return entry::Drain{host_id(3), by, "disk"};
     },
     kOperators, kOperators, kOperators},
    {"undrain",
     [](JobId, Subject by) -> Entry {
       return entry::Undrain{host_id(3), by};
     },
     kOperators, kOperators, kOperators},
    {"mask",
     [](JobId, Subject by) -> Entry {
       return entry::GpuOrder{host_id(3), "GPU-a", true, "fan", by};
     },
     kOperators, kOperators, kOperators},
    {"remove",
     [](JobId, Subject by) -> Entry {
       return entry::RemoveHost{host_id(3), by};
     },
     kOperators, kOperators, kOperators},
    {"ticket",
     [](JobId, Subject by) -> Entry {
       return entry::MakeTicket{"k", 1, std::chrono::hours(1), false, false, "", by, host_id(1)};
     },
     kOperators, kOperators, kOperators},
    {"ticket of a voter",
     [](JobId, Subject by) -> Entry {
       return entry::MakeTicket{"k", 1, std::chrono::hours(1), true, false, "", by, host_id(1)};
     },
     kAdmin, kAdmin, kAdmin},
    {"ticket that vouches",
     [](JobId, Subject by) -> Entry {
       return entry::MakeTicket{"k", 1, std::chrono::hours(1), false, true, "", by, host_id(1)};
     },
     kAdmin, kAdmin, kAdmin},
    {"end ticket",
     [](JobId, Subject by) -> Entry {
       return entry::EndTicket{"k", by};
     },
     kOperators, kOperators, kOperators},
    {"set host", enrolment, kAdmin, kAdmin, kAdmin},
    {"rotate",
     [](JobId, Subject by) -> Entry {
       return entry::RotateKeys{1, by};
     },
     kAdmin, kAdmin, kAdmin},
    {"authority",
     [](JobId, Subject by) -> Entry {
       return entry::ReplaceAuthority{2, "key", "s", {}, by};
     },
     kAdmin, kAdmin, kAdmin},
    {"users",
     [](JobId, Subject by) -> Entry {
       return entry::ChangeDirectory{{{}, {{"new", false, UserRole::kAdmin, {}, {}}}}, by};
     },
     kAdmin, kAdmin, kAdmin},
    {"own team",
     [](JobId, Subject by) -> Entry {
       return entry::ChangeDirectory{{{}, {{"new", false, {}, {"vision"}, {}}}}, by};
     },
     {"lead", "admin"},
     {"lead", "admin"},
     {"lead", "admin"}},
};

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_denied(const ApplyResult& result) {
  return !result.rejected.empty() && result.rejected_as == ErrorCode::kDenied;
}

TEST(AccessRules, EveryEntryOfAPersonAgreesWithTheTable) {
  for (const OrderRow& order : kOrderRows) {
    for (const std::string role : kRoles) {
      const struct {
        JobId job;
        const std::vector<std::string>& may;
      } kCells[] = {{JobId(1), role == "user" ? order.own : order.team}, {JobId(2), order.other}};
      for (const auto& cell : kCells) {
        Founded log;
        const ApplyResult result = log.apply(order.make(cell.job, person(role)));
        EXPECT_EQ(is_denied(result), !contains(cell.may, role))
            << order.name << " by " << role << " about job " << cell.job.value() << ": "
            << result.rejected;
      }
    }
  }
}

/// A snapshot without the documents of the audit, which are its last.
std::string without_audit(const State& state) {
  constexpr std::size_t kLengthBytes = 4;
  std::string bytes = state.encode();
  for (gossip::Encoder& document : audit_documents(state.audit(), 14)) {
    bytes.resize(bytes.size() - kLengthBytes - document.take().size());
  }
  return bytes;
}

TEST(AccessRules, ADeniedEntryChangesNothingButTheAudit) {
  for (const OrderRow& order : kOrderRows) {
    for (const JobId job : {JobId(1), JobId(2)}) {
      Founded log;
      Founded other;
      log.apply(order.make(job, person("viewer")));
      other.state.skip(other.state.applied().next());
      EXPECT_EQ(without_audit(log.state), without_audit(other.state)) << order.name;
      EXPECT_EQ(log.state.audit().last(), other.state.audit().last() + 1) << order.name;
      EXPECT_EQ(log.state.audit().lines().back().outcome, AuditOutcome::kDenied) << order.name;
    }
  }
}

TEST(AccessRules, NobodyOrdersWithoutAPersonOrThroughAHostThatMayNotVouch) {
  for (const OrderRow& order : kOrderRows) {
    const std::string name = order.name;
    Founded log;
    EXPECT_TRUE(is_denied(log.apply(order.make(JobId(1), person("admin", 2))))) << name;
    // A leader records joins and rotations, and queues the jobs of a drained host again.
    const bool is_of_leader =
        name == "set host" || name == "rotate" || name == "authority" || name == "requeue";
    EXPECT_EQ(is_denied(log.apply(order.make(JobId(1), {"admin@n", "", host_id(1)}))),
              !is_of_leader)
        << name;
  }
}

TEST(AccessRules, AJobIsOfItsSubmitterAndInATeamOfTheirs) {
  Founded log;
  EXPECT_EQ(log.state.job(JobId(1))->spec.team, "vision");
  EXPECT_EQ(log.state.job(JobId(2))->spec.team, "speech");
  EXPECT_TRUE(is_denied(log.apply(Founded::submit("viewer", "3"))));
  EXPECT_TRUE(is_denied(log.apply(Founded::submit("operator", "4"))));
  EXPECT_TRUE(is_denied(log.apply(Founded::submit("user", "5", "speech"))));
  EXPECT_FALSE(is_denied(log.apply(Founded::submit("admin", "6", "speech"))));
  EXPECT_FALSE(is_denied(log.apply(Founded::submit("newcomer", "7"))));
  EXPECT_EQ(log.state.jobs().rbegin()->second.spec.team, "default");
  entry::Submit of_another = Founded::submit("user", "8");
  of_another.spec.user = "eve";
  EXPECT_TRUE(is_denied(log.apply(of_another)));
}

TEST(AccessRules, AnUnknownJobIsNotFoundRatherThanDenied) {
  Founded log;
  EXPECT_EQ(log.apply(entry::Cancel{JobId(99), person("viewer")}).rejected_as,
            ErrorCode::kNotFound);
}

TEST(AccessRules, TheDirectoryIsFoundedOnce) {
  Founded log;
  const std::uint64_t version = log.state.directory().version();
  EXPECT_EQ(log.apply(entry::FoundDirectory{"mallory"}).rejected, "");
  EXPECT_EQ(log.state.directory().user("mallory").role, UserRole::kUser);
  EXPECT_EQ(log.state.directory().version(), version);
}

/// Root of host 1 makes "eve" an administrator.
entry::ResetAdmin reset_of(std::uint64_t host) {
  const gossip::SshKey key{gossip::SshKeyType::kEd25519, std::string(gossip::kSshPointBytes, 'k'),
                           ""};
  return {"eve", {key, "eve"}, person("root", host)};
}

TEST(AccessRules, OnlyAHostThatVotesAtThatPlaceResetsTheAdministrators) {
  Founded log;
  const auto apply = [&](const entry::ResetAdmin& fact, const std::vector<HostId>& voters) {
    return log.state.apply(log.state.applied().next(), fact, 0, nullptr, voters);
  };
  EXPECT_TRUE(is_denied(apply(reset_of(1), {})));
  EXPECT_TRUE(is_denied(apply(reset_of(1), {host_id(2), host_id(3)}))) << "it may vouch, no more";
  entry::ResetAdmin by_token = reset_of(2);
  by_token.by.token = AccessTokenId::from_bytes("0123456789abcdef");
  EXPECT_TRUE(is_denied(apply(by_token, {host_id(2)})));
  entry::ResetAdmin by_nobody = reset_of(2);
  by_nobody.by.user.clear();
  EXPECT_TRUE(is_denied(apply(by_nobody, {host_id(2)})));
  EXPECT_EQ(log.state.directory().last_reset(), AdminReset());
  EXPECT_EQ(log.state.audit().lines().back().verb, "reset_admin");

  const ApplyResult done = apply(reset_of(2), {host_id(2), host_id(3)});
  EXPECT_EQ(done.rejected, "");
  EXPECT_EQ(log.state.directory().user("eve").role, UserRole::kAdmin);
  EXPECT_EQ(log.state.directory().last_reset(),
            (AdminReset{1, log.state.applied(), "eve", "root@n"}));
  const AuditLine& line = log.state.audit().lines().back();
  EXPECT_EQ(line.verb + " " + line.object, "reset_admin user eve");
  EXPECT_EQ(line.outcome, AuditOutcome::kDone);
  log.state.check_everything();
}

TEST(AccessRules, AResetWaitsForTheFoundingAndNeedsAName) {
  State state;
  EXPECT_EQ(state.apply(LogIndex(1), reset_of(1), 0, nullptr, {host_id(1)}).rejected_as,
            ErrorCode::kUnavailable);
  Founded log;
  entry::ResetAdmin nameless = reset_of(1);
  nameless.admin.clear();
  EXPECT_EQ(
      log.state.apply(log.state.applied().next(), nameless, 0, nullptr, {host_id(1)}).rejected_as,
      ErrorCode::kInvalid);
}

TEST(AccessRules, ASnapshotKnowsTheLastReset) {
  Founded log;
  log.state.apply(log.state.applied().next(), reset_of(1), 0, nullptr, {host_id(1)});
  const Result<State> copy = State::decode(log.state.encode());
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->directory(), log.state.directory());
  EXPECT_NE(copy->directory().last_reset(), AdminReset());
}

TEST(AccessRules, EventsOfAChangeOutliveItsEntry) {
  Founded log;
  const ApplyResult result = log.apply(
      entry::ChangeDirectory{{{{"nlp"}}, {{"new", false, {}, {"nlp"}, {}}}}, person("admin")});
  ASSERT_EQ(result.events.size(), 2U);
  EXPECT_EQ(result.events[0].name, "team_changed");
  EXPECT_EQ(result.events[1].name, "user_changed");
}

TEST(AccessRules, NoFounderTellsANameThatTheLogCannotHold) {
  for (const std::string& name :
       {std::string(), std::string(kUserNameBytesMax + 1, 'a'), std::string("a\nb")}) {
    EXPECT_FALSE(is_admin_name(name));
    State state;
    EXPECT_NE(state.apply(LogIndex(1), entry::FoundDirectory{name}).rejected, "");
    EXPECT_FALSE(state.directory().is_founded());
  }
  const std::string longest(kUserNameBytesMax, 'a');
  EXPECT_TRUE(is_admin_name(longest));
  EXPECT_TRUE(decode_entry(encode(Entry(entry::FoundDirectory{longest}))).has_value());
}

TEST(AccessRules, ASnapshotKeepsTheDirectory) {
  Founded log;
  log.apply(entry::ChangeDirectory{{.teams = {{"vision", false, 7}},
                                    .users = {},
                                    .are_logins_users = false,
                                    .hides_other_teams = true},
                                   person("admin")});
  const Result<State> read = State::decode(log.state.encode());
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->directory(), log.state.directory());
  EXPECT_EQ(read->directory().team("vision").priority_max, 7);
}

}  // namespace
}  // namespace muster::scheduler
