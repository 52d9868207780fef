// A newcomer's conversation with real sockets: the answer to its own question counts, from the
// cluster of its ticket alone.

#include "agent/edge/join/joiner.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/agent/edge/join/member.h"

namespace muster::agent {
namespace {

using testing::Answers;
using testing::key_of;
using testing::Member;

const HostKey& newcomer() {
  static const HostKey key = key_of('n');
  return key;
}
const HostKey& authority() {
  static const HostKey key = key_of('a');
  return key;
}

Result<MembershipRecord> join_at(const Member& member) {
  return join_with(newcomer(), "new", testing::ticket_to({&member}, authority()));
}

void expect_error(const Result<MembershipRecord>& joined, ErrorCode code, const std::string& part) {
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().code, code);
  EXPECT_NE(joined.error().text.find(part), std::string::npos) << joined.error().text;
}

TEST(Joiner, ANewcomerShowsWhoItIsAndIsGivenItsRecord) {
  Member member(testing::lets_in(authority()));
  const auto joined = join_at(member);
  ASSERT_TRUE(joined.has_value()) << joined.error().text;
  ASSERT_FALSE(member.end().empty());
  const JoinArgs& asked = member.end()[0];
  EXPECT_EQ(asked.identity_key, newcomer().public_key());
  EXPECT_EQ(asked.link_key, gossip::LinkKeys::from_seed(joined->link_seed).public_key);
  EXPECT_EQ(asked.name, "new");
  EXPECT_EQ(asked.ticket, gossip::LinkKeys::from_seed(testing::ticket_secret()).public_key);
  EXPECT_TRUE(HostKeyVerifier().verify(asked.identity_key, join_words(asked), asked.signature));

  const JoinInfo info = testing::info_for(asked, authority());
  MembershipRecord expected;
  expected.link_seed = joined->link_seed;
  expected.cluster = info.cluster;
  expected.authority = info.authority;
  expected.authority_seed = info.authority_secret;
  expected.own = info.own;
  expected.contacts = info.contacts;
  EXPECT_EQ(*joined, expected);
}

TEST(Joiner, EachTryMakesNewLinkKeys) {
  Member member(testing::lets_in(authority()));
  const auto once = join_at(member);
  const auto again = join_at(member);
  ASSERT_TRUE(once.has_value() && again.has_value());
  EXPECT_NE(once->link_seed, again->link_seed);
}

TEST(Joiner, ALineThatIsNoTicketIsRefusedAtOnce) {
  expect_error(join_with(newcomer(), "new", ""), ErrorCode::kInvalid, "that is not a ticket");
  expect_error(join_with(newcomer(), "new", "muster2.abc"), ErrorCode::kInvalid, "has a version");
}

TEST(Joiner, ARefusalEndsItWithTheWordsOfTheMember) {
  for (const ResponseStatus status : {ResponseStatus::kDenied, ResponseStatus::kConflict}) {
    Member member([status](const JoinArgs&, Nonce nonce) {
      return Answers{testing::refusal_of(nonce, status, "that ticket has been used")};
    });
    expect_error(join_at(member), ErrorCode::kConflict, "that ticket has been used");
  }
}

TEST(Joiner, WordsThatAnswerAnotherQuestionArePassedOver) {
  Member member([](const JoinArgs& join, Nonce nonce) {
    const Response refusal{ResponseStatus::kDenied, "not for you", "", 0, ""};
    return Answers{testing::response_to(nonce.next(), refusal),
                   "no message",
                   testing::message_of(gossip::MessageType::kRequest, nonce, encode(refusal)),
                   testing::message_of(gossip::MessageType::kResponse, nonce,
                                       gossip::Encoder().array(1).u64(4).take()),
                   testing::welcome_to(nonce, testing::info_for(join, authority())),
                   testing::response_to(nonce, refusal)};
  });
  const auto joined = join_at(member);
  EXPECT_TRUE(joined.has_value()) << joined.error().text;
}

TEST(Joiner, AMemberThatCannotHelpNowIsAskedTheSameAgain) {
  for (const ResponseStatus status : {ResponseStatus::kNoQuorum, ResponseStatus::kUnknown}) {
    std::vector<Nonce> nonces;  // Of the member's thread, until it ends.
    Member member([&](const JoinArgs& join, Nonce nonce) {
      nonces.push_back(nonce);
      return Answers{nonces.size() == 1
                         ? testing::refusal_of(nonce, status, "nobody leads")
                         : testing::welcome_to(nonce, testing::info_for(join, authority()))};
    });
    const auto joined = join_at(member);
    ASSERT_TRUE(joined.has_value()) << joined.error().text;
    const std::vector<JoinArgs>& asked = member.end();
    ASSERT_GE(asked.size(), 2U);
    EXPECT_EQ(asked[1].signature, asked[0].signature);
    EXPECT_EQ(nonces[1], nonces[0]) << "a late answer to the first question counts as well";
  }
}

TEST(Joiner, WhereOneMemberCannotHelpTheOthersAreAsked) {
  std::atomic<bool> was_asked = false;
  // The first one that is asked knows no leader, however often it is asked.
  const auto answer = [&was_asked](bool& is_deaf) {
    return [&was_asked, &is_deaf](const JoinArgs& join, Nonce nonce) {
      is_deaf = is_deaf || !was_asked.exchange(true);
      return Answers{is_deaf ? testing::refusal_of(nonce, ResponseStatus::kNoQuorum, "no leader")
                             : testing::welcome_to(nonce, testing::info_for(join, authority()))};
    };
  };
  bool is_one_deaf = false;
  bool is_other_deaf = false;
  Member one(answer(is_one_deaf));
  Member other(answer(is_other_deaf));
  const auto joined = join_with(newcomer(), "new", testing::ticket_to({&one, &other}, authority()));
  ASSERT_TRUE(joined.has_value()) << joined.error().text;
  one.end();
  other.end();
  EXPECT_NE(is_one_deaf, is_other_deaf);
}

TEST(Joiner, AnAnswerOfAnotherClusterIsNotBelieved) {
  Member member(testing::lets_in(key_of('b')));
  expect_error(join_at(member), ErrorCode::kConflict, "another cluster");
}

TEST(Joiner, AWelcomeThatCannotBeReadIsNotBelieved) {
  Member member([](const JoinArgs&, Nonce nonce) {
    return Answers{testing::response_to(nonce, Response{ResponseStatus::kOk, "", "", 0, "x"})};
  });
  expect_error(join_at(member), ErrorCode::kConflict, "another cluster");
}

gossip::AuthorityLink link_to(std::uint64_t number, const HostKey& next, const HostKey& by) {
  const std::string key(next.public_key());
  return {number, key, by.sign(gossip::authority_words(number, key))};
}

/// A welcome of `signs`, that followed others by these links.
Member::Answer lets_in_after(const std::vector<gossip::AuthorityLink>& links, const HostKey& signs,
                             std::uint64_t number) {
  return [=](const JoinArgs& join, Nonce nonce) {
    JoinInfo info = testing::info_for(join, signs);
    info.own = testing::record_for(join, signs, number);
    info.authority_links = links;
    return Answers{testing::welcome_to(nonce, info)};
  };
}

TEST(Joiner, AnAuthorityThatFollowedTheOneOfTheTicketIsBelieved) {
  const HostKey second = key_of('b');
  const HostKey third = key_of('c');
  const std::vector links{link_to(2, second, authority()), link_to(3, third, second)};
  for (const HostKey& of_ticket : {authority(), second, third}) {
    Member member(lets_in_after(links, third, 3));
    const auto joined = join_with(newcomer(), "new", testing::ticket_to({&member}, of_ticket));
    ASSERT_TRUE(joined.has_value()) << joined.error().text;
    EXPECT_EQ(joined->authority, third.public_key());
    EXPECT_EQ(joined->authority_links, links);
    EXPECT_EQ(joined->own.authority, 3U);
  }
}

TEST(Joiner, AnAuthorityThatTheOneOfTheTicketNeverSignedIsNotBelieved) {
  const HostKey second = key_of('b');
  const HostKey third = key_of('c');
  Member strange(lets_in_after({link_to(2, second, second)}, second, 2));
  expect_error(join_at(strange), ErrorCode::kConflict, "another cluster");
  Member broken(
      lets_in_after({link_to(2, second, authority()), link_to(3, third, third)}, third, 3));
  expect_error(join_at(broken), ErrorCode::kConflict, "another cluster");
}

TEST(Joiner, ARecordThatIsNotOfItsOwnKeysIsNotTaken) {
  const std::vector<std::pair<std::string, std::function<Contact(JoinArgs)>>> records{
      {"of another link key",
       [](JoinArgs join) {
         join.link_key = gossip::LinkKeys::make().public_key;
         return testing::record_for(join, authority());
       }},
      {"of another host",
       [](JoinArgs join) {
         join.identity_key = std::string(key_of('o').public_key());
         return testing::record_for(join, authority());
       }},
      {"signed by another", [](JoinArgs join) { return testing::record_for(join, key_of('b')); }},
      {"of another edition",
       [](JoinArgs join) {
         Contact own = testing::record_for(join, authority());
         ++own.edition;
         return own;
       }},
      {"none", [](JoinArgs) { return Contact(); }},
  };
  for (const auto& [what, make] : records) {
    SCOPED_TRACE(what);
    Member member([&make = make](const JoinArgs& join, Nonce nonce) {
      JoinInfo info = testing::info_for(join, authority());
      info.own = make(join);
      return Answers{testing::welcome_to(nonce, info)};
    });
    expect_error(join_at(member), ErrorCode::kUnavailable, "does not match its keys");
  }
}

}  // namespace
}  // namespace muster::agent
