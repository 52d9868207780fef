// Goal: what comes with a token takes effect exactly if the token permits it and its user may do
// it, when the entry is applied. Method: a log with users and jobs, one order after the other.

#include <string>

#include <gtest/gtest.h>

#include "scheduler/state/access_rules.h"
#include "scheduler/state/audit_snapshot.h"
#include "scheduler/state/state.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using testing::host_id;

constexpr Duration kDay = std::chrono::hours(24);
const AccessTokenId kToken = AccessTokenId::from_bytes("token of ann____");

Subject login(const std::string& user) {
  return {user + "@n", user, host_id(1)};
}

/// An order that came with a token, by way of host 2, which may not vouch.
Subject bearer(const std::string& user, AccessTokenId token = kToken) {
  return {user + "@m", user, host_id(2), token};
}

/// A log with the admin carol, the users ann and bob, both in teams vision and speech, and one
/// waiting job of each: 1 of ann, 2 of bob.
class LogWithTokens {
 public:
  LogWithTokens() {
    for (const std::uint64_t host : {1, 2}) {
      entry::Enrol fact;
      fact.host = host_id(host);
      fact.authority = 1;
      fact.edition = 1;
      fact.record = "record";
      fact.may_vouch = host == 1;
      apply(fact);
    }
    apply(testing::registration(3, 1));
    apply(entry::FoundDirectory{"carol"});
    const std::vector<std::string> teams = {"vision", "speech"};
    apply(entry::ChangeDirectory{
        {{{"vision"}, {"speech"}}, {{"ann", false, {}, teams}, {"bob", false, {}, teams}}},
        login("carol")});
    EXPECT_EQ(apply(submit(login("ann"), "one")).rejected, "");
    EXPECT_EQ(apply(submit(login("bob"), "two")).rejected, "");
  }

  ApplyResult apply(Entry entry) {
    return state.apply(state.applied().next(), std::move(entry), 0);
  }
  ApplyResult make(const std::string& user, TokenRights rights, const std::string& team = "") {
    return apply(entry::MakeAccessToken{kToken, std::string(32, 'h'), "ci", rights, team, kDay,
                                        login(user)});
  }
  /// Cluster time goes on.
  void wait(Duration time) {
    for (; time > Duration::zero(); time -= kTickMax) {
      apply(entry::Tick{std::min(time, kTickMax)});
    }
  }
  static entry::Submit submit(const Subject& by, const std::string& key,
                              const std::string& team = "vision") {
    entry::Submit fact = testing::submission(key, 1);
    fact.spec.user = by.user;
    fact.spec.team = team;
    fact.by = by;
    return fact;
  }

  State state;
};

/// A snapshot without the documents of the audit, which are its last.
std::string without_lines(const State& state) {
  constexpr std::size_t kLengthBytes = 4;
  constexpr std::uint64_t kAnySection = 14;
  std::string bytes = state.encode();
  for (gossip::Encoder& document : audit_documents(state.audit(), kAnySection)) {
    bytes.resize(bytes.size() - kLengthBytes - document.take().size());
  }
  return bytes;
}

bool was_denied(const ApplyResult& result) {
  return !result.rejected.empty() && result.rejected_as == ErrorCode::kDenied;
}

TEST(AccessTokens, ATokenSubmitsAndChangesJobsOfItsUserIfItWasMadeForThat) {
  for (const bool may_submit : {false, true}) {
    LogWithTokens log;
    ASSERT_EQ(log.make("ann", {true, may_submit}).rejected, "");
    const Subject by = bearer("ann");
    EXPECT_EQ(was_denied(log.apply(LogWithTokens::submit(by, "three"))), !may_submit);
    EXPECT_TRUE(was_denied(log.apply(entry::Cancel{JobId(2), by}))) << "a job of bob";
    EXPECT_EQ(was_denied(log.apply(entry::Cancel{JobId(1), by})), !may_submit);
  }
}

TEST(AccessTokens, ATokenSubmitsForItsTeamAlone) {
  LogWithTokens log;
  ASSERT_EQ(log.make("ann", {false, true}, "speech").rejected, "");
  EXPECT_TRUE(was_denied(log.apply(LogWithTokens::submit(bearer("ann"), "a", "vision"))));
  EXPECT_EQ(log.apply(LogWithTokens::submit(bearer("ann"), "b", "speech")).rejected, "");
}

TEST(AccessTokens, NoTokenGoesBeyondItsUser) {
  LogWithTokens log;
  ASSERT_EQ(log.make("ann", {true, true}).rejected, "");
  EXPECT_TRUE(was_denied(log.apply(LogWithTokens::submit(bearer("bob"), "a"))));
  entry::Submit of_another = LogWithTokens::submit(bearer("ann"), "b");
  of_another.spec.user = "bob";
  EXPECT_TRUE(was_denied(log.apply(of_another)));
  entry::Submit too_high = LogWithTokens::submit(bearer("ann"), "c");
  too_high.spec.priority = 101;
  EXPECT_TRUE(was_denied(log.apply(too_high)));
  log.apply(entry::ChangeDirectory{{{}, {{"ann", false, UserRole::kViewer}}}, login("carol")});
  EXPECT_TRUE(was_denied(log.apply(LogWithTokens::submit(bearer("ann"), "d"))));
}

TEST(AccessTokens, ATokenEndsWithItsTimeItsUserAndByRevocation) {
  const auto submits = [](LogWithTokens& log) {
    return !was_denied(log.apply(LogWithTokens::submit(bearer("ann"), "last")));
  };
  LogWithTokens expired;
  expired.make("ann", {true, true});
  expired.wait(kDay - std::chrono::seconds(1));
  ASSERT_FALSE(was_denied(expired.apply(LogWithTokens::submit(bearer("ann"), "early"))));
  expired.wait(std::chrono::seconds(1));
  EXPECT_FALSE(submits(expired));
  expired.wait(kEndedTokenKept);
  EXPECT_TRUE(expired.state.directory().tokens().all().empty());
  EXPECT_FALSE(submits(expired));

  LogWithTokens removed;
  removed.make("ann", {true, true});
  removed.apply(entry::ChangeDirectory{{{}, {{"ann", true}}}, login("carol")});
  EXPECT_FALSE(submits(removed)) << "as a login without a record ann is still a user";

  LogWithTokens revoked;
  revoked.make("ann", {true, true});
  EXPECT_TRUE(was_denied(revoked.apply(entry::EndAccessToken{kToken, login("bob")})));
  EXPECT_EQ(revoked.apply(entry::EndAccessToken{kToken, login("ann")}).rejected, "");
  EXPECT_FALSE(submits(revoked));
  EXPECT_EQ(revoked.apply(entry::EndAccessToken{kToken, login("ann")}).rejected_as,
            ErrorCode::kNotFound);
}

TEST(AccessTokens, AnAdministratorRevokesTokensOfOthers) {
  LogWithTokens log;
  log.make("ann", {true, true});
  EXPECT_EQ(log.apply(entry::EndAccessToken{kToken, login("carol")}).rejected, "");
}

// Also the token of an administrator.
TEST(AccessTokens, NoTokenOperatesRulesOrMakesTokens) {
  const Subject by = bearer("carol");
  entry::Enrol rights;
  rights.host = host_id(2);
  rights.authority = 1;
  rights.edition = 2;
  rights.record = "another";
  rights.may_vouch = true;
  rights.by = by;
  const std::string hash(32, 'h');
  const AccessTokenId next = AccessTokenId::from_bytes("the next token__");
  const Entry orders[] = {
      entry::Edit{JobId(1), 1, by},
      entry::Fence{host_id(3), by},
      entry::Drain{host_id(3), by, "disk"},
      entry::Undrain{host_id(3), by},
      entry::GpuOrder{host_id(3), "GPU-a", false, "well", by},
      entry::RemoveHost{host_id(3), by},
      entry::MakeTicket{"k", 1, std::chrono::hours(1), false, false, "", by, host_id(1)},
      entry::EndTicket{"k", by},
      rights,
      entry::RotateKeys{1, by},
      entry::ReplaceAuthority{2, "key", "s", {}, by},
      entry::ChangeDirectory{{{}, {{"carol", false, {}, {"vision"}}}}, by},
      entry::MakeAccessToken{next, hash, "more", {true, true}, "", kDay, by},
      entry::EndAccessToken{kToken, by},
  };
  for (const Entry& order : orders) {
    LogWithTokens log;
    LogWithTokens other;
    for (LogWithTokens* each : {&log, &other}) {
      ASSERT_EQ(each->make("carol", {true, true}).rejected, "");
    }
    EXPECT_TRUE(was_denied(log.apply(order))) << static_cast<int>(kind_of(order));
    other.state.skip(other.state.applied().next());
    EXPECT_EQ(without_lines(log.state), without_lines(other.state))
        << static_cast<int>(kind_of(order));
  }
}

TEST(AccessTokens, ATokenThatCannotBeIsRejected) {
  const entry::MakeAccessToken good{kToken, std::string(32, 'h'), "ci", {true, false}, "",
                                    kDay,   login("ann")};
  const auto changed = [&](auto change) {
    entry::MakeAccessToken fact = good;
    change(fact);
    return LogWithTokens().apply(fact);
  };
  EXPECT_EQ(LogWithTokens().apply(good).rejected, "");
  EXPECT_EQ(changed([](auto& fact) { fact.id = AccessTokenId(); }).rejected_as,
            ErrorCode::kInvalid);
  EXPECT_NE(changed([](auto& fact) { fact.hash = "short"; }).rejected, "");
  EXPECT_NE(changed([](auto& fact) { fact.label = ""; }).rejected, "");
  EXPECT_NE(changed([](auto& fact) { fact.label = "a\nb"; }).rejected, "");
  EXPECT_NE(changed([](auto& fact) { fact.label.assign(65, 'a'); }).rejected, "");
  EXPECT_NE(changed([](auto& fact) { fact.rights = {}; }).rejected, "");
  EXPECT_NE(changed([](auto& fact) { fact.ttl = Duration(0); }).rejected, "");
  EXPECT_NE(changed([](auto& fact) { fact.ttl = kTokenTtlMax + Duration(1); }).rejected, "");
  EXPECT_EQ(changed([](auto& fact) { fact.team = "nlp"; }).rejected_as, ErrorCode::kNotFound);
  EXPECT_TRUE(was_denied(changed([](auto& fact) { fact.by.host = host_id(2); })));
  EXPECT_TRUE(was_denied(changed([](auto& fact) { fact.by.user = ""; })));
}

TEST(AccessTokens, ASnapshotKeepsThem) {
  LogWithTokens log;
  log.make("ann", {true, false}, "speech");
  const Result<State> read = State::decode(log.state.encode());
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->directory(), log.state.directory());
  ASSERT_NE(read->directory().tokens().find(kToken), nullptr);
  EXPECT_EQ(read->digest(), log.state.digest());
}

TEST(AccessTokens, EventsNameTheTokenAndNeverItsHash) {
  LogWithTokens log;
  const ApplyResult made = log.make("ann", {true, false});
  ASSERT_EQ(made.events.size(), 1U);
  EXPECT_EQ(made.events[0].name, "access_token_made");
  for (const auto& [field, value] : made.events[0].fields) {
    EXPECT_EQ(value.find("hhhh"), std::string::npos) << field;
  }
}

}  // namespace
}  // namespace muster::scheduler
