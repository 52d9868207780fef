// Renewals by way of a relay: gathered, brought, answered, and what happens when the relay fails.

#include "agent/gang/relay/renewal_relay.h"

#include <gtest/gtest.h>

#include <set>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::RelayedAck;
using scheduler::RelayedAcks;
using scheduler::RelayedRenews;
using scheduler::Renew;
using scheduler::RenewAck;

const HostId kLeader = HostId::from_bytes("leader__________");
const HostId kNext = HostId::from_bytes("next leader_____");
const HostId kRelay = HostId::from_bytes("relay___________");
const HostId kMate = HostId::from_bytes("mate____________");
constexpr AgentStart kStart{Generation(1), StartId(7)};
constexpr Token kToken{1, 10};
const Renew kRenew{kStart, {kToken}};

class RenewalRelayTest : public ::testing::Test {
 protected:
  RenewalRelayTest() {
    for (RenewalRelay* each : {&relay_, &mate_}) {
      each->leader_changed(now_, kLeader);
    }
    pass(10s);  // Longer than a change of the leader makes haste.
  }
  std::vector<AgentSend> pass(Duration time) {
    std::vector<AgentSend> sent;
    const Instant end = now_ + time;
    for (RenewalRelay* each : {&relay_, &mate_}) {
      now_ = end - time;
      while (each->next_deadline() <= end) {
        now_ = std::max(now_, each->next_deadline());
        each->tick(now_);
        for (AgentSend& message : each->take_messages()) {
          sent.push_back(std::move(message));
        }
      }
    }
    now_ = end;
    return sent;
  }

  Instant now_{1000s};
  RenewalRelay relay_{kRelay, now_};
  RenewalRelay mate_{kMate, now_};
};

TEST_F(RenewalRelayTest, ARacksRenewalsReachTheLeaderAsOneMessage) {
  mate_.carry_own(now_, kRelay, Nonce(5), kRenew);
  std::vector<AgentSend> said = mate_.take_messages();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].to, kRelay);
  EXPECT_EQ(said[0].nonce, Nonce(5));
  relay_.carry(now_, kMate, Nonce(5), kRenew);
  relay_.carry_own(now_, kRelay, Nonce(6), kRenew);
  EXPECT_TRUE(relay_.take_messages().empty()) << "it waits for the others";
  said = pass(kRelayDelay);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].to, kLeader);
  const auto& brought = std::get<RelayedRenews>(said[0].message).renews;
  ASSERT_EQ(brought.size(), 2U);
  EXPECT_EQ(brought[0], (scheduler::RelayedRenew{kMate, Nonce(5), kRenew}));
  EXPECT_EQ(brought[1].host, kRelay);
}

TEST_F(RenewalRelayTest, AcksGoBackUnderTheHostsOwnNonces) {
  relay_.acked(RelayedAcks{{{kMate, Nonce(5), RenewAck{{kToken}}}, {kRelay, Nonce(6), {}}}});
  const std::vector<AgentSend> said = relay_.take_messages();
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0].to, kMate);
  EXPECT_EQ(said[0].nonce, Nonce(5));
  EXPECT_EQ(std::get<RenewAck>(said[0].message).tokens, std::vector<Token>{kToken});
  EXPECT_EQ(said[1].to, kRelay) << "its own comes back to itself";
}

TEST_F(RenewalRelayTest, WhatTheRelayLosesGoesDirectlyUnderTheSameNonce) {
  mate_.carry_own(now_, kRelay, Nonce(5), kRenew);
  mate_.take_messages();
  EXPECT_TRUE(pass(kRelayPatience - 1ms).empty());
  const std::vector<AgentSend> said = pass(1ms);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].to, kLeader);
  EXPECT_EQ(said[0].nonce, Nonce(5)) << "the hold counts from the first send";
  EXPECT_EQ(std::get<Renew>(said[0].message), kRenew);
  EXPECT_TRUE(pass(60s).empty());
}

TEST_F(RenewalRelayTest, AnAnsweredRenewalIsNotRepeated) {
  mate_.carry_own(now_, kRelay, Nonce(5), kRenew);
  mate_.take_messages();
  mate_.own_acked(Nonce(5));
  EXPECT_TRUE(pass(60s).empty());
}

TEST_F(RenewalRelayTest, WithoutARelayOrWhereTheRelayLeadsNothingIsGathered) {
  mate_.carry_own(now_, HostId(), Nonce(5), kRenew);
  mate_.carry_own(now_, kLeader, Nonce(6), kRenew);
  const std::vector<AgentSend> said = mate_.take_messages();
  ASSERT_EQ(said.size(), 2U);
  EXPECT_TRUE(std::all_of(said.begin(), said.end(),
                          [](const AgentSend& each) { return each.to == kLeader; }));
  EXPECT_TRUE(pass(60s).empty());
}

TEST_F(RenewalRelayTest, ANewLeaderIsToldSoonAndTheOldOnesRenewalsAreForgotten) {
  mate_.carry_own(now_, kRelay, Nonce(5), kRenew);
  mate_.take_messages();
  mate_.leader_changed(now_, kNext);
  EXPECT_TRUE(pass(60s).empty()) << "hosts renew anew";
  relay_.leader_changed(now_, kNext);
  relay_.carry(now_, kMate, Nonce(7), kRenew);
  const std::vector<AgentSend> said = pass(kRelayDelayFirst);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(std::get<RelayedRenews>(said[0].message).renews.at(0).nonce, Nonce(7));
}

TEST_F(RenewalRelayTest, WhatWasBroughtToADeadLeaderIsBroughtToTheNext) {
  relay_.carry(now_, kMate, Nonce(7), kRenew);
  relay_.carry_own(now_, kRelay, Nonce(8), kRenew);
  ASSERT_EQ(pass(kRelayDelay).at(0).to, kLeader);
  relay_.acked(RelayedAcks{{{kRelay, Nonce(8), RenewAck{{kToken}}}}});
  relay_.take_messages();
  relay_.leader_changed(now_, kNext);
  const std::vector<AgentSend> said = pass(kRelayDelayFirst);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].to, kNext);
  const auto& again = std::get<RelayedRenews>(said[0].message).renews;
  ASSERT_EQ(again.size(), 1U) << "the other was answered";
  EXPECT_EQ(again[0], (scheduler::RelayedRenew{kMate, Nonce(7), kRenew}));
}

TEST_F(RenewalRelayTest, WhatIsNotAnsweredIsBroughtOnceMoreBeforeItsHostGoesDirectly) {
  relay_.carry(now_, kMate, Nonce(7), kRenew);
  relay_.carry_own(now_, kRelay, Nonce(8), kRenew);
  ASSERT_EQ(pass(kRelayDelay).size(), 1U);
  relay_.acked(RelayedAcks{{{kRelay, Nonce(8), RenewAck{{kToken}}}}});
  relay_.own_acked(Nonce(8));
  relay_.take_messages();
  EXPECT_TRUE(pass(kRelayAgain - 1ms).empty());
  static_assert(kRelayDelay + kRelayAgain < kRelayPatience);
  const std::vector<AgentSend> said = pass(1ms);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].to, kLeader);
  EXPECT_EQ(std::get<RelayedRenews>(said[0].message).renews,
            (std::vector{scheduler::RelayedRenew{kMate, Nonce(7), kRenew}}));
  EXPECT_TRUE(pass(60s).empty()) << "not a third time";
}

TEST_F(RenewalRelayTest, AProcessThatStoodStillBringsNothingOld) {
  relay_.carry(now_, kMate, Nonce(7), kRenew);
  ASSERT_EQ(pass(kRelayDelay).size(), 1U);
  now_ += kBroughtMax;
  relay_.tick(now_);
  EXPECT_TRUE(relay_.take_messages().empty()) << "its host may be gone since";
}

TEST_F(RenewalRelayTest, EachIsBroughtAgainInItsOwnTime) {
  relay_.carry(now_, kMate, Nonce(7), kRenew);
  ASSERT_EQ(pass(kRelayDelay).size(), 1U);
  pass(kRelayAgain / 2);
  relay_.carry(now_, kNext, Nonce(9), kRenew);
  std::vector<AgentSend> said = pass(kRelayAgain / 2);
  ASSERT_EQ(said.size(), 1U) << "the first again";
  EXPECT_EQ(std::get<RelayedRenews>(said[0].message).renews.at(0).nonce, Nonce(7));
  said = pass(kRelayDelay - kRelayAgain / 2);
  ASSERT_EQ(said.size(), 1U) << "the second";
  said = pass(kRelayAgain);
  ASSERT_EQ(said.size(), 1U) << "the second again";
  EXPECT_EQ(std::get<RelayedRenews>(said[0].message).renews.at(0).nonce, Nonce(9));
  EXPECT_EQ(relay_.next_deadline(), kNever);
}

TEST_F(RenewalRelayTest, WhatIsTooOldIsNotBroughtToTheNext) {
  relay_.carry(now_, kMate, Nonce(7), kRenew);
  ASSERT_EQ(pass(kRelayDelay).at(0).to, kLeader);
  pass(kBroughtMax);
  relay_.leader_changed(now_, kNext);
  EXPECT_TRUE(pass(60s).empty()) << "its host may be gone since";
}

TEST_F(RenewalRelayTest, ManyAreSplitAndTooManyDropped) {
  for (std::uint64_t i = 0; i < kRelayHostsMax + 5; ++i) {
    relay_.carry(now_, kMate, Nonce(i + 1), kRenew);
  }
  std::size_t brought = 0;
  for (const AgentSend& each : pass(kRelayDelay)) {
    const auto& renews = std::get<RelayedRenews>(each.message).renews;
    EXPECT_LE(renews.size(), scheduler::kRelayedMax);
    brought += renews.size();
  }
  EXPECT_EQ(brought, kRelayHostsMax);
}

}  // namespace
}  // namespace muster::agent
