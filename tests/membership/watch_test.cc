// One observer by itself: what it says and when, with answers made here.

#include "membership/watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace muster::membership {
namespace {

using std::chrono::milliseconds;

HostId host(std::uint8_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes[0] = number;
  return HostId(bytes);
}

class WatchTest : public ::testing::Test {
 protected:
  static constexpr Generation kFirst{1};

  WatchTest() : watch_(host(0), "", Rng(1)) {
    for (std::uint8_t i = 0; i <= 10; ++i) {
      ring_.push_back(host(i));
    }
    for (std::uint8_t subject = 1; subject <= 5; ++subject) {
      watch_.set_subject(now_, host(subject), kFirst, ring_, "");
    }
  }

  void answer(HostId subject) {
    watch_.on_ack(now_, subject, asked_.at(subject).nonce, Ack{milliseconds(5500), Sequence(1)});
  }

  /// What was said by now; when each was asked last.
  Watch::Output take() {
    Watch::Output output = watch_.take_output();
    for (const Outgoing& message : output.messages) {
      if (std::holds_alternative<Probe>(message.body)) {
        asked_[message.to] = {message.nonce, now_};
      }
    }
    return output;
  }

  /// A step of 10 ms; all answer but these.
  void step(const std::vector<HostId>& silent) {
    now_ += milliseconds(10);
    watch_.tick(now_);
    for (const Outgoing& message : take().messages) {
      const bool is_silent = std::find(silent.begin(), silent.end(), message.to) != silent.end();
      if (std::holds_alternative<Probe>(message.body) && !is_silent) {
        answer(message.to);
      }
    }
  }

  struct Asked {
    Nonce nonce;
    Instant at;
  };
  Instant now_{};
  std::vector<HostId> ring_;
  Watch watch_;
  std::map<HostId, Asked> asked_;
};

bool is_asked(const Watch::Output& output, HostId subject) {
  return std::any_of(output.messages.begin(), output.messages.end(), [&](const auto& message) {
    return message.to == subject && std::holds_alternative<Probe>(message.body);
  });
}

TEST_F(WatchTest, WhoHearsOneThatItClaimedLooksAtTheOthersOverNewLinks) {
  const std::vector<HostId> silent{host(1), host(2)};
  for (int i = 0; i < 3000 && watch_.claims().size() < 2; ++i) {
    step(silent);
  }
  ASSERT_EQ(watch_.claims().size(), 2U);
  // In mid-round, whose dial may have gone into the cut: 120 ms after an attempt at 2.
  for (int i = 0; i < 3000 && now_ - asked_[host(2)].at != milliseconds(120); ++i) {
    step(silent);
  }
  ASSERT_EQ(now_ - asked_[host(2)].at, milliseconds(120));
  answer(host(1));
  const Watch::Output output = take();
  EXPECT_TRUE(is_asked(output, host(2)));
  EXPECT_FALSE(is_asked(output, host(3)));
  EXPECT_EQ(output.drop_links, std::vector<HostId>{host(2)});
  // The answer of the next one finds it looked at just now.
  watch_.check_invariants();
  answer(host(2));
  EXPECT_TRUE(watch_.claims().empty());
}

TEST_F(WatchTest, AnAnswerOfWhoWasNotClaimedIsNoReasonToLook) {
  const std::vector<HostId> silent{host(2)};
  for (int i = 0; i < 3000 && watch_.claims().empty(); ++i) {
    step(silent);
  }
  ASSERT_EQ(watch_.claims().size(), 1U);
  for (int i = 0; i < 3000 && now_ - asked_[host(2)].at != milliseconds(120); ++i) {
    step(silent);
  }
  answer(host(3));
  EXPECT_FALSE(is_asked(take(), host(2)));
}

}  // namespace
}  // namespace muster::membership
