// Goal: the bytes that a person signs name everything that the order depends on. Method: each field
// is changed alone, and each kind of order is read as another.

#include "scheduler/access/intent.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gossip/base/stand_in_keys.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;

gossip::SshKey key_of(const std::string& person) {
  return {gossip::SshKeyType::kEd25519,
          std::string(gossip::testing::signer_of_person(person)->public_key()), ""};
}

HostId host(char letter) {
  return HostId::from_bytes(std::string(HostId::kSizeBytes, letter));
}

TEST(Intent, EachFieldChangesTheMessage) {
  const ClusterId cluster = ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'c'));
  const ClusterId other = ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'd'));
  const std::set<std::string> messages = {
      message_of({cluster, "ann", 7, "order"}), message_of({other, "ann", 7, "order"}),
      message_of({cluster, "bob", 7, "order"}), message_of({cluster, "ann", 8, "order"}),
      message_of({cluster, "ann", 7, "other"}), message_of({cluster, "an", 7, "norder"})};
  EXPECT_EQ(messages.size(), 6U);
}

TEST(Intent, EachChangeOfUsersHasItsOwnWords) {
  const UserChange ann{"ann"};
  UserChange with_key = ann;
  with_key.keys_added = {{key_of("ann"), "ann@home"}};
  UserChange without_key = ann;
  without_key.keys_removed = {key_of("ann")};
  UserChange admin = ann;
  admin.role = UserRole::kAdmin;
  const std::vector<DirectoryChange> changes = {
      {},
      {{}, {ann}},
      {{}, {with_key}},
      {{}, {without_key}},
      {{}, {admin}},
      {{}, {UserChange{"ann", true}}},
      {{{"ann"}}, {}},
      {.teams = {}, .users = {}, .are_logins_users = false},
      {.teams = {}, .users = {}, .are_logins_users = true},
      {.teams = {}, .users = {}, .hides_other_teams = true}};
  std::set<std::string> words;
  for (const DirectoryChange& change : changes) {
    words.insert(words_of(change));
  }
  EXPECT_EQ(words.size(), changes.size());
}

TEST(Intent, EachChoiceOfATicketHasItsOwnWords) {
  const entry::MakeTicket plain{"key", 1, 1h, true, false, "", {}, {}};
  std::vector<entry::MakeTicket> tickets(7, plain);
  tickets[1].key = "other";
  tickets[2].uses = 2;
  tickets[3].ttl = 2h;
  tickets[4].may_vote = false;
  tickets[5].may_vouch = true;
  tickets[6].host_name = "gpu7";
  std::set<std::string> words;
  for (const entry::MakeTicket& ticket : tickets) {
    words.insert(words_of(ticket));
  }
  EXPECT_EQ(words.size(), tickets.size());
  entry::MakeTicket passed_on = plain;
  passed_on.by = {"ann@n1", "ann", host('1')};
  passed_on.made_at = host('1');
  EXPECT_EQ(words_of(passed_on), words_of(plain)) << "the host of the login is no part of the wish";
}

TEST(Intent, AnOrderAboutMembersIsReadAsItWasWritten) {
  using Kind = MemberOrder::Kind;
  const std::vector<MemberOrder> orders = {{Kind::kSetRights, host('1'), true, {}},
                                           {Kind::kSetRights, host('1'), {}, false},
                                           {Kind::kSetRights, host('2'), false, true},
                                           {Kind::kRevoke, host('1')},
                                           {Kind::kRotateKeys, host('1')},
                                           {Kind::kRotateKeys},
                                           {Kind::kReplaceAuthority}};
  std::set<std::string> words;
  for (const MemberOrder& order : orders) {
    EXPECT_LE(words_of(order).size(), kSignedOrderBytesMax);
    EXPECT_EQ(member_order_in(words_of(order)), order);
    words.insert(words_of(order));
  }
  EXPECT_EQ(words.size(), orders.size());
}

TEST(Intent, OtherWordsAreNoOrderAboutMembers) {
  const std::string words = words_of(MemberOrder{MemberOrder::Kind::kRevoke, host('1')});
  EXPECT_FALSE(member_order_in(""));
  EXPECT_FALSE(member_order_in(words.substr(0, words.size() - 1)));
  EXPECT_FALSE(member_order_in(words + "x"));
  EXPECT_FALSE(member_order_in(words_of(DirectoryChange())));
  EXPECT_FALSE(member_order_in(words_of(entry::MakeTicket())));
  std::string unknown_kind = words;
  unknown_kind[unknown_kind.find("member") + 6] = 4;
  EXPECT_FALSE(member_order_in(unknown_kind));
}

}  // namespace
}  // namespace muster::scheduler
