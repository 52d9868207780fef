// A link key changes once those who must know it have heard of it, and not before.

#include "agent/roll/link_rotation.h"

#include <gtest/gtest.h>

#include "crdt/rows/host_state.h"
#include "tests/crdt/rows/roll_of.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

HostId host(char letter) {
  return HostId::from_bytes(std::string(15, 'h') + letter);
}

const HostId kSelf = host('s');
const Instant kStart{1000s};

class LinkRotationTest : public ::testing::Test {
 protected:
  static Credentials credentials() {
    Credentials own;
    own.signer = std::make_shared<gossip::testing::StandInSigner>(kSelf);
    own.link_seed = std::string(kSelf.bytes());
    own.key_maker = std::make_shared<gossip::testing::StandInKeyMaker>(kSelf);
    own.records = {{kSelf, crdt::testing::roll_field(kSelf, crdt::testing::record_of(kSelf))}};
    return own;
  }
  /// The authority wishes for another key, and the next one comes to be on disk.
  void wish() {
    crdt::RollRecord record = crdt::testing::record_of(kSelf);
    record.key_round = 1;
    rotation.on_record(record, outbox);
    persist();
  }
  bool persist() {
    bool is_in_use = false;
    const NodeOutput output = outbox.take();
    for (const Persist& each : output.persists) {
      if (each.id != 0) {
        is_in_use =
            rotation.on_persisted(now, outbox.pending().on_persisted(each.id).id, store, outbox);
      }
    }
    return is_in_use;
  }
  /// The hosts that it asks: "ab".
  std::string tick(Duration later) {
    now += later;
    outbox.begin_step(now);
    std::string asked;
    for (const HostId each : rotation.tick(now, audience, outbox)) {
      asked += each.bytes().back();
    }
    return asked;
  }
  void shows(char letter) {
    const crdt::Field* told = store.field(kSelf, crdt::FieldId::kLink);
    ASSERT_NE(told, nullptr);
    rotation.on_seen({{host(letter), told->version}});
  }

  Instant now = kStart;
  Outbox outbox{kStart};
  crdt::HostStore store{kSelf, Generation(1), {}, Rng(1), credentials().signer};
  LinkRotation rotation{kSelf, credentials(), {}};
  Audience audience{{host('a'), host('b')}, {host('a'), host('v'), host('w')}};
};

TEST_F(LinkRotationTest, UsesTheKeyOnceAllPeersAndMostVotersHaveHeard) {
  wish();
  EXPECT_EQ(tick(100ms), "abvw");
  shows('a');
  shows('b');
  EXPECT_EQ(tick(100ms), "vw") << "one voter of three";
  shows('v');
  EXPECT_EQ(tick(100ms), "");
  EXPECT_TRUE(persist());
  EXPECT_TRUE(rotation.was_changed());
  EXPECT_EQ(rotation.next_deadline(), kNever);
}

TEST_F(LinkRotationTest, WaitsForNoPeerLongerThanSoLong) {
  wish();
  shows('a');
  shows('v');
  EXPECT_EQ(tick(100ms), "b");
  EXPECT_EQ(tick(LinkRotation::kToldMax), "");
  EXPECT_TRUE(persist());
}

TEST_F(LinkRotationTest, KeepsTheKeyAsLongAsItDoesNotReachTheVoters) {
  wish();
  audience.peers.clear();  // Nobody is reachable: it is cut off.
  for (int minute = 0; minute < 60; ++minute) {
    EXPECT_EQ(tick(60s), "avw");
    EXPECT_EQ(rotation.next_deadline(), now + LinkRotation::kAskVotersPeriod);
  }
  EXPECT_FALSE(persist());
  EXPECT_FALSE(rotation.was_changed());
  shows('v');
  shows('w');
  EXPECT_EQ(tick(1s), "");
  EXPECT_TRUE(persist());
}

TEST_F(LinkRotationTest, WhereNoQuorumIsKnownNoKeyChanges) {
  wish();
  audience = {};
  EXPECT_EQ(tick(60s), "");
  EXPECT_FALSE(persist());
  EXPECT_GT(rotation.next_deadline(), now);
}

TEST_F(LinkRotationTest, TheOnlyVoterHasHeardOfItself) {
  wish();
  audience = {{}, {kSelf}};
  EXPECT_EQ(tick(100ms), "");
  EXPECT_TRUE(persist());
}

TEST_F(LinkRotationTest, WhatWasHeardInALifeBeforeDoesNotCount) {
  wish();
  shows('a');
  shows('v');
  crdt::Records kept;
  for (const crdt::Write& write :
       writes_of(LinkRecord{std::string(kSelf.bytes()), 0, std::string(kSelf.bytes()),
                            std::string(16, 'n'), "", 0})) {
    kept[write.key] = *write.value;
  }
  rotation = LinkRotation(kSelf, credentials(), kept);
  rotation.begin(now, store);
  audience.peers.clear();
  EXPECT_EQ(tick(60s), "avw");
  EXPECT_FALSE(persist());
}

}  // namespace
}  // namespace muster::agent
