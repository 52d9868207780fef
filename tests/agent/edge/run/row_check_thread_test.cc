// Checks away from the loop: in order, each signature once, bounded.

#include "agent/edge/run/row_check_thread.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <future>

#include "tests/crdt/rows/signed_row.h"

namespace muster::agent {
namespace {

constexpr int kPatienceMs = 20'000;

HostId host(std::size_t number) {
  return HostId::from_bytes(std::string(15, 'h') + static_cast<char>('a' + number));
}

crdt::RowsToCheck rows_of(std::size_t number, std::uint64_t sequence, std::size_t bytes = 4) {
  crdt::RowOf row{host(number), {Generation(1), {}}};
  row.row.fields[4] = {{Generation(1), Sequence(sequence)}, std::string(bytes, 'x')};
  crdt::RowsToCheck rows;
  rows.body.rows.push_back(crdt::testing::signed_row(std::move(row)));
  rows.owners.push_back({std::string(host(number).bytes())});
  return rows;
}

/// Counts what it is asked.
class Counting final : public gossip::Verifier {
 public:
  explicit Counting(std::atomic<int>& count) : count_(count) {}
  bool verify(std::string_view key, std::string_view words,
              std::string_view signature) const override {
    ++count_;
    return stand_in_.verify(key, words, signature);
  }
  HostId host_of(std::string_view key) const override { return stand_in_.host_of(key); }
  std::string link_key_of(std::string_view key) const override {
    return stand_in_.link_key_of(key);
  }
  std::string digest(std::string_view words) const override { return stand_in_.digest(words); }
  std::string sha256(std::string_view words) const override { return stand_in_.sha256(words); }
  std::string sha512(std::string_view words) const override { return stand_in_.sha512(words); }
  std::string seal(std::string_view key, std::string_view secret) const override {
    return stand_in_.seal(key, secret);
  }

 private:
  gossip::testing::StandInVerifier stand_in_;
  std::atomic<int>& count_;
};

/// Answers once it is let go.
class Waiting final : public gossip::Verifier {
 public:
  explicit Waiting(std::shared_future<void> go) : go_(std::move(go)) {}
  bool verify(std::string_view key, std::string_view words,
              std::string_view signature) const override {
    go_.wait();
    return stand_in_.verify(key, words, signature);
  }
  HostId host_of(std::string_view key) const override { return stand_in_.host_of(key); }
  std::string link_key_of(std::string_view key) const override {
    return stand_in_.link_key_of(key);
  }
  std::string digest(std::string_view words) const override { return stand_in_.digest(words); }
  std::string sha256(std::string_view words) const override { return stand_in_.sha256(words); }
  std::string sha512(std::string_view words) const override { return stand_in_.sha512(words); }
  std::string seal(std::string_view key, std::string_view secret) const override {
    return stand_in_.seal(key, secret);
  }

 private:
  gossip::testing::StandInVerifier stand_in_;
  std::shared_future<void> go_;
};

class RowCheckThreadTest : public ::testing::Test {
 protected:
  std::vector<crdt::RowsChecked> take(std::size_t count) {
    std::vector<crdt::RowsChecked> all;
    while (all.size() < count) {
      pollfd entry{thread_.fd(), POLLIN, 0};
      if (poll(&entry, 1, kPatienceMs) <= 0) {
        ADD_FAILURE() << all.size() << " of " << count;
        break;
      }
      for (crdt::RowsChecked& each : thread_.take_checked()) {
        all.push_back(std::move(each));
      }
    }
    return all;
  }

  std::atomic<int> asked_ = 0;
  RowCheckThread thread_{{1, "authority"}, std::make_unique<Counting>(asked_)};
};

TEST_F(RowCheckThreadTest, AnswersInTheOrderOfTheQuestions) {
  for (std::uint64_t i = 1; i <= 50; ++i) {
    ASSERT_TRUE(thread_.submit(rows_of(i % 3, i)));
  }
  const std::vector<crdt::RowsChecked> checked = take(50);
  for (std::uint64_t i = 1; i <= 50; ++i) {
    EXPECT_EQ(checked.at(i - 1).body.rows.at(0).row.fields.at(4).version.sequence, Sequence(i));
    EXPECT_EQ(checked[i - 1].forged, 0U);
  }
}

TEST_F(RowCheckThreadTest, SendersHaveTheirTurnsOneAfterTheOther) {
  std::promise<void> go;
  RowCheckThread thread({1, "authority"}, std::make_unique<Waiting>(go.get_future().share()));
  for (std::uint64_t i = 1; i <= 40; ++i) {
    crdt::RowsToCheck flood = rows_of(1, i);
    flood.from = host(1);
    ASSERT_TRUE(thread.submit(std::move(flood)));
  }
  crdt::RowsToCheck honest = rows_of(2, 1);
  honest.from = host(2);
  ASSERT_TRUE(thread.submit(std::move(honest)));
  go.set_value();
  std::vector<HostId> order;
  while (order.size() < 41) {
    pollfd entry{thread.fd(), POLLIN, 0};
    ASSERT_GT(poll(&entry, 1, kPatienceMs), 0);
    for (const crdt::RowsChecked& each : thread.take_checked()) {
      order.push_back(each.from);
    }
  }
  const auto place = std::find(order.begin(), order.end(), host(2)) - order.begin();
  EXPECT_LE(place, 2) << "not behind the forty";
}

TEST_F(RowCheckThreadTest, TheSameNewsFromSixNeighboursIsLookedAtOnce) {
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(thread_.submit(rows_of(1, 7)));
  }
  take(6);
  EXPECT_EQ(asked_, 1);
  crdt::RowsToCheck forged = rows_of(1, 7);
  forged.body.rows[0].row.fields[4].bytes = "else";  // Under a signature that is known as good.
  ASSERT_TRUE(thread_.submit(forged));
  EXPECT_EQ(take(1).at(0).forged, 1U);
  EXPECT_EQ(asked_, 2);
}

TEST(RowCheckThread, WhatIsTooMuchIsDroppedAndTheRestIsAnswered) {
  std::promise<void> go;
  RowCheckThread thread({1, "authority"}, std::make_unique<Waiting>(go.get_future().share()));
  std::uint64_t taken = 0;
  while (thread.submit(rows_of(1, taken + 1, crdt::kFieldBytesMax)) && taken < 3000) {
    ++taken;
  }
  EXPECT_GT(taken, 50U);
  EXPECT_LT(taken, 80U) << "4 MiB of 64 KiB each";
  crdt::RowsToCheck others = rows_of(2, 1, crdt::kFieldBytesMax);
  others.from = host(2);
  EXPECT_TRUE(thread.submit(std::move(others))) << "one sender takes no room of another";
  ++taken;
  for (std::size_t sender = 3; sender < 13; ++sender) {  // Until there is no room for anybody.
    for (std::uint64_t i = 1; i <= 70; ++i) {
      crdt::RowsToCheck more = rows_of(sender, i, crdt::kFieldBytesMax);
      more.from = host(sender);
      taken += thread.submit(std::move(more)) ? 1 : 0;
    }
  }
  EXPECT_LT(taken, 600U) << "32 MiB of 64 KiB each";
  go.set_value();
  std::uint64_t checked = 0;
  while (checked < taken) {
    pollfd entry{thread.fd(), POLLIN, 0};
    ASSERT_GT(poll(&entry, 1, kPatienceMs), 0);
    checked += thread.take_checked().size();
  }
  EXPECT_TRUE(thread.submit(rows_of(1, 9999))) << "there is room again";
}

}  // namespace
}  // namespace muster::agent
