// Goal: an order that administrators alone may give takes effect if its person signed it, and once.
// Method: a log whose first administrator has a key; each row of a table forges one part.

#include "scheduler/state/signed_order.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gossip/ssh/ssh_wire.h"
#include "scheduler/access/intent.h"
#include "scheduler/state/state.h"
#include "tests/gossip/base/stand_in_keys.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using gossip::SshKey;
using gossip::SshKeyType;
using gossip::testing::signer_of_person;
using testing::host_id;
using namespace std::chrono_literals;

const gossip::testing::StandInVerifier kVerifier;

ClusterId cluster_of(char letter) {
  return ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, letter));
}

SshKey key_of(const std::string& person) {
  return {SshKeyType::kEd25519, std::string(signer_of_person(person)->public_key()), ""};
}

/// The words that a person signs, the key and the purpose.
struct Pen {
  std::string key = "admin";
  Intent intent;
  std::string name_space = std::string(kIntentNamespace);
};

PersonSignature written(const Pen& pen, bool holds = false) {
  return signature_for(pen.intent,
                       gossip::sign_ssh(*signer_of_person(pen.key), pen.name_space,
                                        message_of(pen.intent), kVerifier),
                       holds);
}

Subject person(const std::string& user) {
  return {user + "@n", user, host_id(1)};
}

entry::Enrol record_of(std::uint64_t host, std::uint64_t edition, bool may_vouch) {
  entry::Enrol fact;
  fact.host = host_id(host);
  fact.authority = 1;
  fact.edition = edition;
  fact.record = "record " + std::to_string(edition);
  fact.may_vouch = may_vouch;
  return fact;
}

/// Users "admin" with a key, which is founded at index 3, "lead" of team vision, "user" with a key,
/// and "second", an administrator without one.
class SignedOrderTest : public ::testing::Test {
 protected:
  SignedOrderTest() {
    apply(record_of(1, 1, true));
    apply(record_of(2, 1, false));
    apply(
        entry::FoundDirectory{"admin", cluster_of('c'), gossip::SshKeyLine{key_of("admin"), "a"}});
    DirectoryChange change;
    change.teams = {{"vision"}};
    change.users = {{"lead", false, UserRole::kLead, {"vision"}, {}},
                    {"user", false, UserRole::kUser, {}, {}},
                    {"second", false, UserRole::kAdmin, {}, {}}};
    change.users[1].keys_added = {{key_of("user"), "u"}};
    EXPECT_EQ(apply_signed(change), "");
  }

  ApplyResult apply(Entry entry, const gossip::Verifier* verifier = &kVerifier) {
    return state.apply(state.applied().next(), std::move(entry), 0, verifier);
  }
  std::uint64_t number(const std::string& user = "admin") const {
    const UserKey* key = state.directory().key(user, key_of(user));
    return key == nullptr ? 0 : key->next;
  }
  Pen pen_for(const DirectoryChange& change) const {
    return {.intent = {cluster_of('c'), "admin", number(), words_of(change)}};
  }
  static entry::ChangeDirectory change_entry(const DirectoryChange& change,
                                             PersonSignature signature) {
    entry::ChangeDirectory fact{change, person("admin")};
    fact.by.signature = std::move(signature);
    return fact;
  }
  /// "" if it took effect.
  std::string apply_signed(const DirectoryChange& change) {
    return apply(change_entry(change, written(pen_for(change)))).rejected;
  }
  bool has(const std::string& user) const { return state.directory().has_record(user); }

  State state;
  const DirectoryChange new_user{{}, {{"new"}}};
};

TEST_F(SignedOrderTest, CountsOnceAndRaisesTheNumber) {
  const std::uint64_t before = number();
  const entry::ChangeDirectory fact = change_entry(new_user, written(pen_for(new_user)));
  EXPECT_EQ(apply(fact).rejected, "");
  EXPECT_TRUE(has("new"));
  EXPECT_EQ(number(), before + 1);
  const ApplyResult again = apply(fact);
  EXPECT_EQ(again.rejected, kSignAgain);
  EXPECT_EQ(again.rejected_as, ErrorCode::kConflict);
  EXPECT_EQ(number(), before + 1);
}

TEST_F(SignedOrderTest, WithoutASignatureAnAdministratorIsToldToSign) {
  const ApplyResult result = apply(entry::ChangeDirectory{new_user, person("admin")});
  EXPECT_EQ(result.rejected_as, ErrorCode::kDenied);
  EXPECT_EQ(result.rejected,
            "only a signed order may do that: run it where your key is, or give --sign-with FILE");
  EXPECT_EQ(apply(entry::ChangeDirectory{new_user, person("second")}).rejected,
            "only a signed order may do that, and user second has no key in the cluster: another "
            "admin adds one with `muster user set second --key FILE`");
  EXPECT_FALSE(has("new"));
}

TEST_F(SignedOrderTest, NoForgedPartCounts) {
  struct Row {
    const char* forged;
    std::function<void(Pen&)> forge;
    const char* why;
  };
  const Row rows[] = {
      {"key", [](Pen& pen) { pen.key = "mallory"; }, "does not have in the cluster"},
      {"key of another user", [](Pen& pen) { pen.key = "user"; }, "does not have in the cluster"},
      {"cluster", [](Pen& pen) { pen.intent.cluster = cluster_of('d'); }, "does not fit"},
      {"person", [](Pen& pen) { pen.intent.user = "second"; }, "does not fit"},
      {"number too low", [](Pen& pen) { --pen.intent.number; }, "came first"},
      {"number too high", [](Pen& pen) { ++pen.intent.number; }, "came first"},
      {"arguments",
       [](Pen& pen) {
         pen.intent.order = words_of(DirectoryChange{{}, {{"other"}}});
       },
       "does not fit"},
      {"kind of order",
       [](Pen& pen) { pen.intent.order = words_of(MemberOrder{MemberOrder::Kind::kRotateKeys}); },
       "does not fit"},
      {"purpose", [](Pen& pen) { pen.name_space = "git"; }, "another purpose"},
  };
  for (const Row& row : rows) {
    const std::uint64_t before = number();
    Pen pen = pen_for(new_user);
    row.forge(pen);
    const ApplyResult result = apply(change_entry(new_user, written(pen)));
    EXPECT_NE(result.rejected.find(row.why), std::string::npos)
        << row.forged << ": " << result.rejected;
    EXPECT_FALSE(has("new")) << row.forged;
    EXPECT_EQ(number(), before) << row.forged;
  }
}

TEST_F(SignedOrderTest, ACarrierThatChangesTheOrderOrItsNumberIsFound) {
  const DirectoryChange grab{{}, {{"mallory", false, UserRole::kAdmin, {}, {}}}};
  EXPECT_NE(apply(change_entry(grab, written(pen_for(new_user)))).rejected, "");
  PersonSignature moved = written(pen_for(new_user));
  EXPECT_EQ(apply_signed({{{"speech"}}, {}}), "");
  moved.number = number();
  EXPECT_NE(apply(change_entry(new_user, moved)).rejected, "");
  PersonSignature damaged = written(pen_for(new_user));
  damaged.blob.back() ^= 1;
  EXPECT_NE(apply(change_entry(new_user, damaged)).rejected, "");
  EXPECT_FALSE(has("mallory"));
  EXPECT_FALSE(has("new"));
}

TEST_F(SignedOrderTest, WithoutAVerifierNoSignatureCounts) {
  const entry::ChangeDirectory fact = change_entry(new_user, written(pen_for(new_user)));
  EXPECT_EQ(apply(fact, nullptr).rejected_as, ErrorCode::kDenied);
  EXPECT_FALSE(has("new"));
}

TEST_F(SignedOrderTest, TheKeyOfAUserWhoIsNoAdministratorGivesNoRight) {
  const Pen pen{"user", {cluster_of('c'), "user", number("user"), words_of(new_user)}};
  entry::ChangeDirectory fact{new_user, person("user")};
  fact.by.signature = written(pen);
  EXPECT_EQ(apply(fact).rejected_as, ErrorCode::kDenied);
  // It counted: it does not take effect later, when the user has the role.
  EXPECT_EQ(apply_signed({{}, {{"user", false, UserRole::kAdmin, {}, {}}}}), "");
  EXPECT_EQ(apply(fact).rejected, kSignAgain);
  EXPECT_FALSE(has("new"));
}

TEST_F(SignedOrderTest, ALeadChangesOwnTeamsWithoutASignature) {
  const DirectoryChange join{{}, {{"new", false, {}, {"vision"}, {}}}};
  EXPECT_EQ(apply(entry::ChangeDirectory{join, person("lead")}).rejected, "");
  DirectoryChange key{{}, {{"new"}}};
  key.users[0].keys_added = {{key_of("lead"), ""}};
  EXPECT_EQ(apply(entry::ChangeDirectory{key, person("lead")}).rejected_as, ErrorCode::kDenied);
}

TEST_F(SignedOrderTest, ARemovedKeyCountsNoMoreNorDoItsOldNumbersWhenItIsBack) {
  DirectoryChange gives_second{{}, {{"second"}}};
  gives_second.users[0].keys_added = {{key_of("second"), ""}};
  EXPECT_EQ(apply_signed(gives_second), "");
  const Pen pen{"second", {cluster_of('c'), "second", number("second"), words_of(new_user)}};
  entry::ChangeDirectory kept{new_user, person("second")};
  kept.by.signature = written(pen);
  DirectoryChange takes_second{{}, {{"second"}}};
  takes_second.users[0].keys_removed = {key_of("second")};
  EXPECT_EQ(apply_signed(takes_second), "");
  EXPECT_NE(apply(kept).rejected.find("does not have"), std::string::npos);
  EXPECT_EQ(apply_signed(gives_second), "");
  EXPECT_GT(number("second"), pen.intent.number);
  EXPECT_EQ(apply(kept).rejected, kSignAgain);
  EXPECT_FALSE(has("new"));
}

TEST_F(SignedOrderTest, ASecurityKeyHasToBeTouched) {
  const SshKey key{SshKeyType::kSkEd25519, key_of("token").point, "ssh:"};
  DirectoryChange adds{{}, {{"admin"}}};
  adds.users[0].keys_added = {{key, ""}};
  EXPECT_EQ(apply_signed(adds), "");
  for (const std::uint8_t flags : {std::uint8_t{0}, gossip::kSshUserPresent}) {
    const Intent intent{cluster_of('c'), "admin", state.directory().key("admin", key)->next,
                        words_of(new_user)};
    gossip::SshSignature signature;
    signature.key = key;
    signature.name_space = kIntentNamespace;
    signature.flags = flags;
    signature.counter = 1;
    const std::string data =
        gossip::ssh_signed_data(kIntentNamespace, signature.hash, message_of(intent), kVerifier);
    signature.bytes = signer_of_person("token")->sign(gossip::SshWriter()
                                                          .raw(kVerifier.sha256(key.application))
                                                          .byte(flags)
                                                          .u32(1)
                                                          .raw(kVerifier.sha256(data))
                                                          .take());
    const std::string why =
        apply(change_entry(new_user, signature_for(intent, signature, false))).rejected;
    EXPECT_EQ(why.empty(), flags == gossip::kSshUserPresent) << why;
  }
}

TEST_F(SignedOrderTest, ATicketNeedsASignatureIfItBringsRights) {
  entry::MakeTicket ticket{"key", 1, 1h, false, false, "", person("admin"), host_id(1)};
  EXPECT_EQ(apply(ticket).rejected, "");
  ticket.key = "vouching";
  ticket.may_vouch = true;
  EXPECT_EQ(apply(ticket).rejected_as, ErrorCode::kDenied);
  ticket.by.signature = written({.intent = {cluster_of('c'), "admin", number(), words_of(ticket)}});
  entry::MakeTicket longer = ticket;
  longer.ttl = 2h;
  EXPECT_EQ(apply(longer).rejected_as, ErrorCode::kDenied);
  EXPECT_EQ(apply(ticket).rejected, "");
}

TEST_F(SignedOrderTest, AnOrderAboutMembersDoesWhatWasSignedAndNoOtherThing) {
  using Kind = MemberOrder::Kind;
  const auto sign = [&](const MemberOrder& order) {
    return written({.intent = {cluster_of('c'), "admin", number(), words_of(order)}}, true);
  };
  const auto denies = [&](auto fact, const MemberOrder& order) {
    fact.by = person("admin");
    fact.by.signature = sign(order);
    const std::uint64_t before = number();
    const ApplyResult result = apply(fact);
    return !result.rejected.empty() && result.rejected_as == ErrorCode::kDenied &&
           number() == before;
  };
  entry::Enrol vouches = record_of(2, 2, true);
  vouches.by = person("admin");
  EXPECT_EQ(apply(vouches).rejected_as, ErrorCode::kDenied) << "not signed";
  EXPECT_TRUE(denies(vouches, {Kind::kRevoke, host_id(2)}));
  EXPECT_TRUE(denies(vouches, {Kind::kSetRights, host_id(1), {}, true}));
  EXPECT_TRUE(denies(vouches, {Kind::kSetRights, host_id(2), {}, false}));
  EXPECT_TRUE(denies(vouches, {Kind::kSetRights, host_id(2), true, {}}));
  EXPECT_TRUE(denies(vouches, {Kind::kRotateKeys, host_id(2)}));
  entry::Enrol revoked = record_of(2, 2, false);
  revoked.is_revoked = true;
  EXPECT_TRUE(denies(revoked, {Kind::kSetRights, host_id(2), {}, false}));
  EXPECT_TRUE(denies(entry::RotateKeys{1, {}}, {Kind::kReplaceAuthority}));
  EXPECT_TRUE(denies(entry::RotateKeys{1, {}}, {Kind::kRotateKeys, host_id(1)}));
  EXPECT_TRUE(denies(entry::ReplaceAuthority{2, "key", "signature", {}, {}}, {Kind::kRotateKeys}));

  vouches.by.signature = sign({Kind::kSetRights, host_id(2), {}, true});
  EXPECT_EQ(apply(vouches).rejected, "");
  EXPECT_TRUE(state.roll().find(host_id(2))->may_vouch);
  entry::RotateKeys rotation{1, person("admin")};
  rotation.by.signature = sign({Kind::kRotateKeys});
  EXPECT_EQ(apply(rotation).rejected, "");
  EXPECT_EQ(apply(rotation).rejected, kSignAgain);
}

TEST_F(SignedOrderTest, ALeaderRecordsMembersInItsOwnName) {
  entry::Enrol record = record_of(2, 2, true);
  record.by = {"muster"};
  EXPECT_EQ(apply(record).rejected, "");
}

TEST_F(SignedOrderTest, TheLastKeyOfAnAdministratorStays) {
  DirectoryChange takes{{}, {{"admin"}}};
  takes.users[0].keys_removed = {key_of("admin")};
  EXPECT_NE(apply_signed(takes).find("no admin would have a key"), std::string::npos);
  EXPECT_NE(apply_signed({{}, {UserChange{"admin", true}}}).find("no admin would have a key"),
            std::string::npos);
}

TEST_F(SignedOrderTest, ASnapshotKeepsClusterKeysAndNumbers) {
  const auto copy = State::decode(state.encode());
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->directory(), state.directory());
  const entry::ChangeDirectory fact = change_entry(new_user, written(pen_for(new_user)));
  state = *copy;
  EXPECT_EQ(apply(fact).rejected, "");
}

TEST(UnsignedOrder, CountsWhileNoAdministratorHasAKey) {
  State state;
  state.apply(LogIndex(1), record_of(1, 1, true));
  state.apply(LogIndex(2), entry::FoundDirectory{"admin"});
  const DirectoryChange change{{}, {{"new"}}};
  EXPECT_EQ(state.apply(LogIndex(3), entry::ChangeDirectory{change, person("admin")}).rejected, "");
  DirectoryChange key{{}, {{"admin"}}};
  key.users[0].keys_added = {{key_of("admin"), ""}};
  EXPECT_EQ(state.apply(LogIndex(4), entry::ChangeDirectory{key, person("admin")}).rejected, "");
  EXPECT_EQ(state.apply(LogIndex(5), entry::ChangeDirectory{change, person("admin")}).rejected_as,
            ErrorCode::kDenied);
}

}  // namespace
}  // namespace muster::scheduler
