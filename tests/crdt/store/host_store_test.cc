// Tests of a few HostStores together: each publish reaches all of them once, and losses are
// repaired.

#include "crdt/store/host_store.h"

#include <gtest/gtest.h>

#include "gossip/base/generation.h"
#include "gossip/base/rng.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::crdt {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

HostId host(std::size_t number) {
  return HostId::from_bytes(std::string(15, 'h') + static_cast<char>('a' + number));
}

/// Stores in a mesh whose messages arrive at once, unless lost.
class StoreMesh : public ::testing::Test {
 protected:
  void start(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      stores_.push_back(std::make_unique<HostStore>(host(i), Generation(1), Records{}, Rng(i + 1),
                                                    gossip::testing::signer_of(host(i))));
    }
    std::vector<HostId> everyone;
    for (std::size_t i = 0; i < count; ++i) {
      everyone.push_back(host(i));
    }
    for (std::size_t i = 0; i < count; ++i) {
      step(i, NeighboursChanged{everyone});
    }
    pass(seconds(11));
  }
  void step(std::size_t at, HostStore::Input input) {
    stores_[at]->step(now_, std::move(input));
    settle();
  }
  void publish(std::size_t at, const std::string& bytes, bool urgent = true,
               FieldId field = FieldId::kCapacity) {
    step(at, Publish{field, bytes, urgent});
  }
  void pass(Duration duration) {
    const Instant end = now_ + duration;
    while (now_ < end) {
      Instant next = end;
      for (const auto& store : stores_) {
        next = std::min(next, store->next_deadline());
      }
      now_ = std::max(now_, next);
      for (const auto& store : stores_) {
        store->tick(now_);
      }
      settle();
    }
  }
  void settle() {
    bool is_moving = true;
    while (is_moving) {
      is_moving = false;
      for (std::size_t i = 0; i < stores_.size(); ++i) {
        stores_[i]->check_invariants();
        stores_[i]->check_rows();
        HostStore::Output out = stores_[i]->take_output();
        for (const RowsMessage& message : out.messages) {
          is_moving = deliver(i, message) || is_moving;
        }
        writes_ += out.writes.size();
        for (Event& event : out.events) {
          events_.push_back(event.text());
        }
        if (out.raise_above.has_value()) {
          raise_above_ = *out.raise_above;
        }
      }
    }
  }
  bool deliver(std::size_t from, const RowsMessage& message) {
    ++messages_;
    bytes_max_ = std::max(bytes_max_, message.body.size());
    const auto document = gossip::Document::parse(message.body);
    EXPECT_TRUE(document.has_value());
    std::optional<RowsBody> body = decode_rows(document->root());
    EXPECT_TRUE(body.has_value());
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      if (host(i) == message.to && !is_deaf_) {
        stores_[i]->step(now_, RowsReceived{host(from), *body});
      }
    }
    return true;
  }
  std::string read(std::size_t at, std::size_t owner, FieldId field = FieldId::kCapacity) const {
    const Field* found = stores_[at]->field(host(owner), field);
    return found == nullptr ? "-" : found->bytes;
  }
  bool agree() const {
    for (const auto& store : stores_) {
      if (store->digest() != stores_[0]->digest()) {
        return false;
      }
    }
    return true;
  }

  Instant now_{seconds(1)};
  std::vector<std::unique_ptr<HostStore>> stores_;
  std::vector<std::string> events_;
  Generation raise_above_;
  std::size_t messages_ = 0;
  std::size_t writes_ = 0;
  std::size_t bytes_max_ = 0;
  bool is_deaf_ = false;
};

TEST_F(StoreMesh, AnUrgentChangeReachesEveryoneAtOnce) {
  start(4);
  publish(0, "x");
  EXPECT_EQ(read(3, 0), "x");
  pass(milliseconds(20));
  EXPECT_TRUE(agree());
  EXPECT_EQ(writes_, 4U);
}

TEST_F(StoreMesh, OtherChangesWaitASecondForCompany) {
  start(2);
  publish(0, "1", false);
  publish(0, "2", false);
  pass(milliseconds(900));
  EXPECT_EQ(read(1, 0), "-");
  EXPECT_EQ(read(0, 0), "-") << "who compares rows meanwhile hears nothing that is overtaken";
  EXPECT_EQ(stores_[0]->own_version().sequence, Sequence(0));
  pass(milliseconds(200));
  EXPECT_EQ(read(1, 0), "2");
  EXPECT_EQ(stores_[0]->own_version().sequence, Sequence(1));
}

TEST_F(StoreMesh, AChangeThatIsTakenBackInTimeIsNone) {
  start(2);
  publish(0, "1", true);
  publish(0, "2", false);
  publish(0, "1", false);
  pass(seconds(2));
  EXPECT_EQ(stores_[0]->own_version().sequence, Sequence(1));
}

TEST_F(StoreMesh, WhoAsksAndKnowsLittleIsToldTheNewsForAWhile) {
  start(4);
  for (std::size_t at = 0; at < 4; ++at) {
    publish(at, "x");
  }
  stores_.push_back(std::make_unique<HostStore>(host(4), Generation(1), Records{}, Rng(5),
                                                gossip::testing::signer_of(host(4))));
  step(4, PeerUp{host(0)});
  EXPECT_EQ(read(4, 1), "x");
  publish(1, "y");
  pass(milliseconds(20));
  EXPECT_EQ(read(4, 1), "y");
  pass(kGuestTime);
  publish(1, "z");
  pass(milliseconds(20));
  EXPECT_EQ(read(4, 1), "y");
}

TEST_F(StoreMesh, WhoBeginsToRelayComparesWithThoseThatItToldNothing) {
  start(4);
  step(0, NeighboursChanged{{host(1)}});  // A chain: 0 - 1 - 2 - 3.
  step(1, NeighboursChanged{{host(0), host(2)}});
  step(2, NeighboursChanged{{host(1), host(3)}, false});
  step(3, NeighboursChanged{{host(2)}});
  publish(0, "x");
  pass(milliseconds(20));
  EXPECT_EQ(read(2, 0), "x");
  EXPECT_EQ(read(3, 0), "-") << "2 has it at second hand";
  step(2, NeighboursChanged{{host(1), host(3)}, true});
  pass(kMeetDelay + 2 * kMeetGap);
  EXPECT_EQ(read(3, 0), "x");
}

TEST_F(StoreMesh, TheSameBytesAgainAreNoChange) {
  start(2);
  publish(0, "x");
  pass(milliseconds(20));
  const std::size_t messages = messages_;
  publish(0, "x");
  EXPECT_EQ(messages_, messages);
}

TEST_F(StoreMesh, AnAckOfANewerVersionRepairsALostChange) {
  start(2);
  is_deaf_ = true;
  publish(0, "x");
  pass(milliseconds(20));
  is_deaf_ = false;
  step(1, PeerVersion{host(0), stores_[0]->own_version()});
  pass(milliseconds(600));
  EXPECT_EQ(read(1, 0), "x");
}

TEST_F(StoreMesh, AnAuditRepairsWhatNobodyMentioned) {
  start(3);
  is_deaf_ = true;
  publish(0, "x");
  pass(milliseconds(20));
  is_deaf_ = false;
  pass(seconds(31));
  EXPECT_TRUE(agree());
}

TEST_F(StoreMesh, ANewLinkExchangesAllRowsBothWays) {
  start(2);
  is_deaf_ = true;
  publish(0, "x");
  publish(1, "y");
  pass(milliseconds(20));
  is_deaf_ = false;
  step(1, PeerUp{host(0)});
  EXPECT_EQ(read(1, 0), "x");
  EXPECT_EQ(read(0, 1), "y");
  EXPECT_TRUE(agree());
}

TEST_F(StoreMesh, UnknownFieldsAreKeptAndSentOn) {
  start(3);
  const auto unknown = static_cast<FieldId>(4711);
  step(1, RowsReceived{host(0),
                       RowsBody{false,
                                {},
                                {{host(0), Row{Generation(1),
                                               {{4711, {{Generation(1), Sequence(1)}, "new"}}}}}},
                                {},
                                false,
                                0}});
  pass(milliseconds(20));
  EXPECT_EQ(read(2, 0, unknown), "new");
}

TEST_F(StoreMesh, ANewGenerationDropsTheFieldsOfTheOldOne) {
  start(2);
  publish(0, "old");
  publish(0, "evidence", true, FieldId::kEvidence);
  Records disk;
  const Row row = *stores_[0]->row(host(0));
  disk["row/" + std::string(host(0).bytes())] = encode_row(row);
  disk["row/short"] = "garbage";
  stores_[0] = std::make_unique<HostStore>(host(0), Generation(2), disk, Rng(9),
                                           gossip::testing::signer_of(host(0)));
  step(0, NeighboursChanged{{host(1)}});
  publish(0, "new");
  pass(milliseconds(20));
  EXPECT_EQ(read(1, 0), "new");
  EXPECT_EQ(read(1, 0, FieldId::kEvidence), "-");
  EXPECT_TRUE(agree());
  EXPECT_EQ(events_.size(), 1U) << "the row that does not decode";
}

TEST_F(StoreMesh, ARestoredDiskIsOverruledBeyondWhatPeersRemember) {
  start(2);
  for (int i = 0; i < 5; ++i) {
    publish(0, std::to_string(i));
  }
  stores_[0] = std::make_unique<HostStore>(host(0), Generation(1), Records{}, Rng(9),
                                           gossip::testing::signer_of(host(0)));
  step(0, NeighboursChanged{{host(1)}});
  publish(0, "again");
  step(0, PeerUp{host(1)});
  pass(milliseconds(20));
  EXPECT_EQ(read(1, 0), "again");
  EXPECT_TRUE(agree());
  ASSERT_FALSE(events_.empty());
  EXPECT_EQ(events_[0].substr(0, 13), "own_row_ahead");
  EXPECT_EQ(raise_above_, Generation(0));
}

TEST_F(StoreMesh, AFieldThatOnlyAnotherLifeOfThisGenerationSaidMakesItRise) {
  start(2);
  publish(0, "said", true, FieldId::kEvidence);
  pass(milliseconds(20));
  stores_[0] = std::make_unique<HostStore>(host(0), Generation(1), Records{}, Rng(9),
                                           gossip::testing::signer_of(host(0)));
  step(0, NeighboursChanged{{host(1)}});
  publish(0, "again");
  step(0, PeerUp{host(1)});
  pass(milliseconds(20));
  EXPECT_EQ(raise_above_, Generation(1));
}

TEST_F(StoreMesh, AnotherLifeOfThisGenerationOnItsDiskMakesItRise) {
  HostStore first(host(0), Generation(1), Records{}, Rng(9), gossip::testing::signer_of(host(0)));
  first.step(now_, Publish{FieldId::kEvidence, "said", true});
  Records disk;
  for (const Write& write : first.take_output().writes) {
    disk[write.key] = write.value.value();
  }
  HostStore second(host(0), Generation(1), disk, Rng(9), gossip::testing::signer_of(host(0)));
  EXPECT_EQ(second.take_output().raise_above, Generation(1)) << "id/ went back, state/ did not";
  HostStore later(host(0), Generation(2), disk, Rng(9), gossip::testing::signer_of(host(0)));
  EXPECT_EQ(later.take_output().raise_above, std::nullopt);
}

TEST_F(StoreMesh, AnOlderGenerationThanPeersRememberIsToldToRise) {
  start(2);
  stores_[1] = std::make_unique<HostStore>(host(1), Generation(5), Records{}, Rng(9),
                                           gossip::testing::signer_of(host(1)));
  publish(1, "five");
  step(1, NeighboursChanged{{host(0)}});
  step(1, PeerUp{host(0)});
  stores_[1] = std::make_unique<HostStore>(host(1), Generation(2), Records{}, Rng(9),
                                           gossip::testing::signer_of(host(1)));
  publish(1, "two");
  step(1, PeerUp{host(0)});
  EXPECT_EQ(raise_above_, Generation(5));
  EXPECT_EQ(read(0, 1), "five");
}

TEST_F(StoreMesh, AForgedRowFarAheadIsNeitherTakenNorFollowed) {
  start(2);
  publish(1, "true");
  for (const std::uint64_t generation : {kGenerationLeapMax + 2, kGenerationMax}) {
    const RowVersion version{Generation(generation), Sequence(1)};
    const Row fields{Generation(1), {{4, {version, "forged"}}}};
    const Row emptied{Generation(generation), {}};
    for (const Row& row : {fields, emptied}) {
      for (auto& store : stores_) {
        store->step(now_,
                    RowsReceived{host(7), RowsBody{false, {}, {{host(1), row}}, {}, false, 0}});
      }
      settle();
    }
  }
  EXPECT_EQ(read(0, 1), "true");
  EXPECT_EQ(raise_above_, Generation(0));
  publish(1, "still heard");
  EXPECT_EQ(read(0, 1), "still heard");
  EXPECT_TRUE(agree());
}

TEST_F(StoreMesh, ManyLargeRowsTravelInBoundedMessages) {
  start(2);
  is_deaf_ = true;
  for (std::size_t i = 2; i < 60; ++i) {
    const Row row{Generation(1), {{4, {{Generation(1), Sequence(1)}, std::string(60'000, 'x')}}}};
    stores_[0]->step(now_,
                     RowsReceived{host(1), RowsBody{false, {}, {{host(i), row}}, {}, false, 0}});
  }
  pass(milliseconds(20));
  is_deaf_ = false;
  step(1, PeerUp{host(0)});
  EXPECT_TRUE(agree());
  EXPECT_EQ(stores_[1]->rows().size(), 58U);
  EXPECT_LT(bytes_max_, kRowsBytesMax + (64U << 10) + 4096);
}

TEST_F(StoreMesh, RowsBeyondTheLimitsAreRefused) {
  start(2);
  Row row{Generation(1), {}};
  for (std::uint32_t field = 0; field <= kRowFieldsMax; ++field) {
    row.fields[field] = {{Generation(1), Sequence(1)}, "x"};
  }
  stores_[0]->step(now_,
                   RowsReceived{host(1), RowsBody{false, {}, {{host(3), row}}, {}, false, 0}});
  settle();
  EXPECT_EQ(stores_[0]->row(host(3)), nullptr);
  EXPECT_EQ(events_.size(), 1U);
}

}  // namespace
}  // namespace muster::crdt
