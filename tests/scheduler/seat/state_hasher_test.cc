// Goal: voters that applied the same log have the same hashes, whatever they began from, and a
// voter with another state has another hash. Method: two voters side by side, histories of all
// kinds of entries drawn from seeds; large states are made of many jobs that wait.

#include "scheduler/seat/state_hasher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/state/state.h"
#include "tests/scheduler/state/history.h"

namespace muster::scheduler {
namespace {

constexpr std::uint64_t kSnapshotEntries = 200;
constexpr std::uint64_t kPoint = kSnapshotEntries / kHashPoints;

class Voter {
 public:
  explicit Voter(std::size_t log_bytes = kLogBytesMax) : log_bytes_(log_bytes) {}

  void apply(const Entry& entry) {
    const LogIndex index = state_.applied().next();
    state_.apply(index, entry);
    note(index, encode(entry));
  }
  /// The first entry of a leader: Raft's own.
  void skip() {
    const LogIndex index = state_.applied().next();
    state_.skip(index);
    note(index, "");
  }
  /// The voter after a restart from a snapshot, in which `to` replaces the first `from`.
  Voter restarted(const std::string& from = "", const std::string& to = "") const {
    std::string bytes = state_.encode();
    if (const std::size_t place = bytes.find(from); !from.empty() && place != std::string::npos) {
      bytes.replace(place, from.size(), to);
    }
    Voter voter(log_bytes_);
    voter.state_ = State::decode(bytes).value();
    voter.began_ = voter.state_.applied();
    voter.hasher_.restored(voter.state_);
    return voter;
  }
  const State& state() const { return state_; }
  std::uint64_t said(std::uint64_t index) const { return said_.at(index).hash; }
  /// All hashes, by index.
  std::map<std::uint64_t, std::uint64_t> all_said() const { return said_since(*this); }
  /// The hashes behind the snapshot from which `other` began.
  std::map<std::uint64_t, std::uint64_t> said_since(const Voter& other) const {
    std::map<std::uint64_t, std::uint64_t> hashes;
    for (const auto& [index, hash] : said_) {
      if (index > other.began_.value()) {
        hashes[index] = hash.hash;
      }
    }
    return hashes;
  }
  /// Whether a snapshot was due behind the last entry.
  bool was_due() const { return was_due_; }

 private:
  void note(LogIndex index, const std::string& command) {
    hasher_.applied(Term(1), command, state_);
    was_due_ = hasher_.is_snapshot_due(index);
    if (hasher_.is_point(index)) {
      const bool is_deep = hasher_.is_deep(index);
      const StateHash hash = hasher_.hash(index, is_deep ? state_.encode() : "none");
      EXPECT_EQ(hash.index, index);
      said_[index.value()] = hash;
    } else {
      EXPECT_FALSE(was_due_);
    }
  }

  std::size_t log_bytes_;
  LogIndex began_;
  bool was_due_ = false;
  State state_;
  StateHasher hasher_{kSnapshotEntries, log_bytes_};
  std::map<std::uint64_t, StateHash> said_;
};

entry::Submit submit(std::uint64_t number, std::size_t bytes) {
  entry::Submit entry;
  entry.key = "key" + std::to_string(number);
  entry.spec.request.gpus = 1;
  entry.spec.command.argv = {std::string(bytes, 'x')};
  entry.by.name = "ann";
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

TEST(StateHasher, ASnapshotIsDueBehindSoManyBytesAndHashesComeOutTheSameFromIt) {
  constexpr std::size_t kLogBytes = 10'000;
  Voter voter(kLogBytes);
  std::vector<Voter> restarted;
  std::size_t due_by_bytes = 0;
  std::size_t least_between = SIZE_MAX;
  std::size_t bytes = 0;
  for (std::uint64_t number = 1; number <= 3 * kSnapshotEntries; ++number) {
    const entry::Submit fact = submit(number, 30 * (number % 100));
    bytes += encode(fact).size();
    voter.apply(fact);
    for (Voter& each : restarted) {
      each.apply(fact);
      ASSERT_EQ(each.all_said(), voter.said_since(each)) << "at index " << number;
      ASSERT_EQ(each.was_due(), voter.was_due());
    }
    if (voter.was_due()) {
      const bool is_by_bytes = number % kSnapshotEntries != 0;
      due_by_bytes += is_by_bytes ? 1 : 0;
      least_between = is_by_bytes ? std::min(least_between, bytes) : least_between;
      bytes = 0;
      restarted.push_back(voter.restarted());
    }
  }
  EXPECT_GT(due_by_bytes, 3U);
  EXPECT_GT(least_between, kLogBytes);
}

TEST(StateHasher, NoSnapshotIsDueBeforeTheLogIsLargerThanTheLastOne) {
  constexpr std::size_t kLogBytes = 1000;
  Voter voter(kLogBytes);
  std::size_t bytes = 0;
  std::size_t snapshot = 0;
  for (std::uint64_t number = 1; number < kSnapshotEntries; ++number) {
    const entry::Submit fact = submit(number, 500);
    bytes += encode(fact).size();
    voter.apply(fact);
    ASSERT_EQ(voter.was_due(), bytes > std::max(kLogBytes, snapshot)) << "at index " << number;
    if (voter.was_due()) {
      snapshot = voter.state().encode().size();
      bytes = 0;
    }
  }
  EXPECT_GT(snapshot, 10 * kLogBytes);
}

}  // namespace
}  // namespace muster::scheduler
