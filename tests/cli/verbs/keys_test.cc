// muster keys and keys rotate: what is shown, what is asked for, and until when it is waited.

#include <gtest/gtest.h>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "tests/cli/kit/fake_world.h"

namespace muster::cli {
namespace {

const HostId kFirst = HostId::from_bytes("first___________");
const HostId kSecond = HostId::from_bytes("second__________");

agent::KeysInfo keys(std::uint64_t first, std::uint64_t second, std::uint64_t authority = 1) {
  agent::KeysInfo info;
  info.authority = authority;
  info.authority_from = authority;
  info.members = 2;
  info.hosts = {{kFirst, "a", authority, first, first, 1, false, true},
                {kSecond, "b", authority, second, second, 1, second == 0, true}};
  info.behind = (first < 1 ? 1U : 0U) + (second < 1 ? 1U : 0U);
  return info;
}

TEST(Keys, SayHowFarEachHostIs) {
  FakeWorld world;
  world.answers(answer_with(keys(1, 0)));
  EXPECT_EQ(world.output_of({"keys"}),
            "authority 1, 2 members, 1 behind\n"
            "HOST  LINK KEY  AUTHORITY  STATE\n"
            "a            1          1  current\n"
            "b            0          1  changing its key\n");
}

TEST(KeysRotate, AllWaitsUntilEachHostHasAnother) {
  FakeWorld world;
  world.answers_in_turn({answer_with(keys(1, 1)), agent::Response{}, answer_with(keys(1, 1)),
                         answer_with(keys(2, 1)), answer_with(keys(2, 2))});
  EXPECT_EQ(world.output_of({"keys", "rotate", "--all"}), "all link keys were replaced\n");
  ASSERT_EQ(world.requests().size(), 5U);
  EXPECT_EQ(world.requests()[1].verb, agent::Verb::kRotateKeys);
  const auto asked = agent::decode_payload<agent::RotateArgs>(world.requests()[1].arguments);
  ASSERT_TRUE(asked.has_value());
  EXPECT_TRUE(asked->host.is_zero());
  EXPECT_FALSE(asked->is_authority);
}

TEST(KeysRotate, TheAuthorityIsReplacedWhenEarlierRecordsCountNoMore) {
  FakeWorld world;
  agent::KeysInfo under_way = keys(1, 1);
  under_way.authority = 2;
  world.answers_in_turn({answer_with(keys(1, 1)), agent::Response{}, answer_with(under_way),
                         answer_with(keys(1, 1, 2))});
  EXPECT_EQ(world.output_of({"keys", "rotate", "--authority", "--yes"}),
            "the authority was replaced\n");
  EXPECT_EQ(world.requests().size(), 4U);
}

TEST(KeysRotate, WhatTakesLongerThanItsPatienceGoesOnByItself) {
  FakeWorld world;
  world.answers_in_turn({answer_with(keys(1, 1)), agent::Response{}, answer_with(keys(1, 1))});
  EXPECT_EQ(world.run({"keys", "rotate", "--all", "--patience", "1s"}), 75);
  EXPECT_NE(world.err().find("2 hosts to go"), std::string::npos) << world.err();
}

TEST(KeysRotate, AsksForExactlyOneThing) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"keys", "rotate"}, {"keys", "rotate", "--all", "--authority"}}) {
    FakeWorld world;
    EXPECT_EQ(world.run(words), 2);
    EXPECT_TRUE(world.requests().empty());
  }
}

}  // namespace
}  // namespace muster::cli
