// Goal: voters that applied the same log say the same hashes, whatever they began from, and one
// whose state is another says another. Method: two voters side by side, histories of all kinds of
// entries drawn from seeds; large states are made of many jobs that wait.

#include "scheduler/state_hasher.h"

#include <gtest/gtest.h>

#include <map>

#include "scheduler/state.h"
#include "tests/scheduler/history.h"

namespace muster::scheduler {
namespace {

constexpr std::uint64_t kSnapshotEntries = 200;
constexpr std::uint64_t kPoint = kSnapshotEntries / kHashPoints;

class Voter {
 public:
  void apply(const Entry& entry) {
    const LogIndex index = state_.applied().next();
    state_.apply(index, entry);
    note(index, encode(entry));
  }
  /// What a leader writes first.
  void skip() {
    const LogIndex index = state_.applied().next();
    state_.skip(index);
    note(index, "");
  }
  /// It lives on from a snapshot, in which `from` is `to` at its first place.
  Voter restarted(const std::string& from = "", const std::string& to = "") const {
    std::string bytes = state_.encode();
    if (const std::size_t place = bytes.find(from); !from.empty() && place != std::string::npos) {
      bytes.replace(place, from.size(), to);
    }
    Voter voter;
    voter.state_ = State::decode(bytes).value();
    voter.hasher_.restored(voter.state_);
    return voter;
  }
  const State& state() const { return state_; }
  std::uint64_t said(std::uint64_t index) const { return said_.at(index).hash; }
  bool has_said(std::uint64_t index) const { return said_.contains(index); }

 private:
  void note(LogIndex index, const std::string& command) {
    hasher_.applied(Term(1), command, state_);
    if (hasher_.is_point(index)) {
      const bool is_deep = hasher_.is_deep(index);
      const StateHash hash = hasher_.hash(index, is_deep ? state_.encode() : "none");
      if (hash.form != 0) {
        EXPECT_EQ(hash.index, index);
        said_[index.value()] = hash;
      }
    }
  }

  State state_;
  StateHasher hasher_{kSnapshotEntries};
  std::map<std::uint64_t, StateHash> said_;
};

entry::Submit submit(std::uint64_t number, std::size_t bytes) {
  entry::Submit entry;
  entry.key = "key" + std::to_string(number);
  entry.spec.gpus = 1;
  entry.spec.argv = {std::string(bytes, 'x')};
  entry.submitted_by = "ann";
  return entry;
}

/// Both with a state that is too large to be hashed whole at each point.
void grow(Voter& one, Voter& other) {
  constexpr std::uint64_t kLarge = 2 * kSnapshotEntries;
  for (std::uint64_t number = 1; number <= kLarge; ++number) {
    one.apply(submit(number, kDeepBytesMax / kSnapshotEntries));
    other.apply(submit(number, kDeepBytesMax / kSnapshotEntries));
  }
  ASSERT_GT(one.state().encode().size(), kDeepBytesMax);
}

TEST(StateHasher, SaysTheSameAfterARestartFromAnySnapshot) {
  constexpr std::uint64_t kEntries = 5 * kSnapshotEntries;
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    testing::History history(seed);
    Voter voter;
    std::vector<Voter> restarted;
    for (std::uint64_t index = 1; index <= kEntries; ++index) {
      const Entry entry = history.next(voter.state());
      voter.apply(entry);
      for (Voter& each : restarted) {
        each.apply(entry);
        if (index % kPoint == 0) {
          ASSERT_EQ(each.said(index), voter.said(index)) << "seed " << seed << " index " << index;
          ++compared;
        }
      }
      if (index % kSnapshotEntries == 0) {
        restarted.push_back(voter.restarted());
      }
    }
  }
  EXPECT_EQ(compared, 5 * (4 + 3 + 2 + 1) * kHashPoints);
}

TEST(StateHasher, SeesAnEntryThatIsAnotherAtTheNextPoint) {
  for (const bool is_large : {false, true}) {
    Voter one;
    Voter other;
    if (is_large) {
      grow(one, other);
    }
    const std::uint64_t begin = one.state().applied().value();
    one.apply(submit(9000, 1));
    other.apply(submit(9000, 2));
    while (one.state().applied().value() < begin + 2 * kPoint) {
      one.skip();
      other.skip();
    }
    EXPECT_NE(one.said(begin + kPoint), other.said(begin + kPoint));
    EXPECT_NE(one.said(begin + 2 * kPoint), other.said(begin + 2 * kPoint));
  }
}

TEST(StateHasher, SeesAnEntryThatDidSomethingElseInALargeState) {
  Voter one;
  Voter other;
  grow(one, other);
  // The one forgot a key: the same submit gives another job.
  Voter forgetful = one.restarted("\xa4key7", "\xa4kay7");
  const std::uint64_t begin = one.state().applied().value();
  for (std::uint64_t i = 0; i < kPoint; ++i) {
    other.apply(submit(7, 5));
    forgetful.apply(submit(7, 5));
  }
  EXPECT_NE(forgetful.said(begin + kPoint), other.said(begin + kPoint));
}

TEST(StateHasher, SeesAWrongRecordThatNoEntryTouchesWhereTheStateIsHashedWhole) {
  Voter small;
  small.apply(submit(1, 1));
  while (small.state().applied().value() < kSnapshotEntries) {
    small.skip();
  }
  Voter wrong = small.restarted("ann", "bob");
  for (std::uint64_t i = 0; i < kPoint; ++i) {
    small.skip();
    wrong.skip();
  }
  EXPECT_NE(small.said(kSnapshotEntries + kPoint), wrong.said(kSnapshotEntries + kPoint));
}

TEST(StateHasher, SaysNothingFromASnapshotOfAnotherIndexUntilTheNextOne) {
  Voter one;
  one.apply(submit(1, 1));
  Voter other = one.restarted();
  while (one.state().applied().value() < kSnapshotEntries) {
    one.skip();
    other.skip();
  }
  EXPECT_TRUE(one.has_said(kPoint));
  EXPECT_FALSE(other.has_said(kPoint));
  EXPECT_FALSE(other.has_said(kSnapshotEntries - kPoint));
  EXPECT_EQ(one.said(kSnapshotEntries), other.said(kSnapshotEntries));
}

}  // namespace
}  // namespace muster::scheduler
