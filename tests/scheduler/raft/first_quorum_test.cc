// Goal: a cluster is born exactly once. Method: agents with loss, late messages, crashes that lose
// unsynced writes, and different knowledge of the founders; after every step at most one set has
// formed, and once faults stop it forms everywhere.

#include "scheduler/raft/first_quorum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "scheduler/raft/codec.h"

namespace muster::scheduler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

HostId founder(std::size_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes[0] = static_cast<std::uint8_t>(number + 1);
  return HostId(bytes);
}

class World {
 public:
  World(std::uint64_t seed, std::size_t seeds, std::size_t expect)
      : rng_(seed), config_{.expect = expect, .founder_count = seeds}, agents_(seeds) {
    for (std::size_t i = 0; i < seeds; ++i) {
      start(i);
    }
  }

  void run(Duration duration, bool faults) {
    faults_ = faults;
    for (const Instant end = now_ + duration; now_ < end; now_ += milliseconds(10)) {
      for (std::size_t i = 0; i < agents_.size(); ++i) {
        live(i);
      }
      deliver();
    }
  }

  std::size_t formed_count() const {
    return static_cast<std::size_t>(std::count_if(
        agents_.begin(), agents_.end(),
        [](const Agent& agent) { return recover_quorum(agent.disk).value().formed.has_value(); }));
  }
  std::size_t clusters() const { return clusters_.size(); }
  std::size_t freed() const { return freed_; }

 private:
  struct Agent {
    std::optional<FirstQuorum> machine;
    crdt::Records disk;
    std::vector<FirstQuorum::Persist> unsynced;
    std::vector<std::size_t> known;
  };
  struct Flight {
    Instant at;
    std::size_t from = 0;
    std::size_t to = 0;
    gossip::MessageType type{};
    std::string bytes;
  };

  void start(std::size_t i) {
    agents_[i].machine.emplace(config_, founder(i), rng_.fork(),
                               recover_quorum(agents_[i].disk).value(), now_);
    agents_[i].known = {i};
  }
  void live(std::size_t i) {
    Agent& agent = agents_[i];
    if (faults_ && rng_.chance(3'000)) {
      agent.unsynced.clear();
      start(i);
    }
    if (rng_.chance(30'000)) {
      learn(i);
    }
    agent.machine->tick(now_);
    drain(i);
    if (!agent.unsynced.empty() && rng_.chance(faults_ ? 200'000 : 1'000'000)) {
      sync(i);
    }
  }
  void learn(std::size_t i) {
    Agent& agent = agents_[i];
    const std::size_t other = rng_.below(agents_.size());
    if (std::find(agent.known.begin(), agent.known.end(), other) == agent.known.end()) {
      agent.known.push_back(other);
    }
    FirstQuorum::FoundersKnown facts;
    for (const std::size_t seed : agent.known) {
      facts.founders.push_back({founder(seed), agents_[seed].machine->formed().has_value()});
    }
    agent.machine->step(now_, facts);
    drain(i);
  }
  void sync(std::size_t i) {
    Agent& agent = agents_[i];
    const std::uint64_t id = agent.unsynced.front().id;
    for (const crdt::Write& write : agent.unsynced.front().writes) {
      agent.disk.erase(write.key);
      if (write.value.has_value()) {
        agent.disk.emplace(write.key, *write.value);
      }
    }
    agent.unsynced.erase(agent.unsynced.begin());
    check();
    agent.machine->step(now_, FirstQuorum::Persisted{id});
    drain(i);
  }
  void drain(std::size_t i) {
    agents_[i].machine->check_invariants();
    FirstQuorum::Output output = agents_[i].machine->take_output();
    for (FirstQuorum::Persist& persist : output.persists) {
      agents_[i].unsynced.push_back(std::move(persist));
    }
    freed_ += static_cast<std::size_t>(
        std::count_if(output.events.begin(), output.events.end(),
                      [](const Event& event) { return event.name == "quorum_promise_freed"; }));
    for (const FirstQuorum::Send& send : output.messages) {
      if (!faults_ || !rng_.chance(200'000)) {
        const bool late = faults_ && rng_.chance(50'000);
        flights_.push_back({now_ + rng_.between(milliseconds(1),
                                                late ? seconds(20) : seconds(0) + milliseconds(50)),
                            i, static_cast<std::size_t>(send.to.bytes()[0]) - 1,
                            type_of(send.message), encode(send.message)});
      }
    }
  }
  void deliver() {
    for (std::size_t i = 0; i < flights_.size();) {
      if (flights_[i].at > now_) {
        ++i;
        continue;
      }
      const Flight flight = flights_[i];
      flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(i));
      const auto document = gossip::Document::parse(flight.bytes);
      const auto message = decode_quorum_message(flight.type, document->root());
      ASSERT_TRUE(message.has_value());
      agents_[flight.to].machine->step(now_,
                                       FirstQuorum::PeerMessage{founder(flight.from), *message});
      drain(flight.to);
    }
  }
  /// Looks at disks only.
  void check() {
    for (const Agent& agent : agents_) {
      const RecoveredQuorum disk = recover_quorum(agent.disk).value();
      if (disk.formed.has_value()) {
        clusters_.emplace(disk.formed->cluster, disk.formed->voters);
      }
    }
    ASSERT_LE(clusters_.size(), 1U) << "two clusters were born";
  }

  Rng rng_;
  FirstQuorum::Config config_;
  Instant now_ = Instant{} + seconds(100);
  bool faults_ = false;
  std::vector<Agent> agents_;
  std::vector<Flight> flights_;
  std::size_t freed_ = 0;
  std::map<ClusterId, std::vector<HostId>> clusters_;
};

TEST(FirstQuorum, OneSeedFormsAlone) {
  World world(1, 1, 1);
  world.run(seconds(2), false);
  EXPECT_EQ(world.formed_count(), 1U);
}

TEST(FirstQuorum, ThreeOfThreeSeedsFormWithinSeconds) {
  World world(1, 3, 3);
  world.run(seconds(8), false);
  EXPECT_EQ(world.formed_count(), 3U);
}

TEST(FirstQuorum, NeverTwoUnderFaultsAndAlwaysOneAfterThem) {
  std::size_t freed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    const std::size_t expect = seed % 3 == 0 ? 5 : 3;
    World world(seed, seed % 3 == 1 ? 3 : 5, expect);
    world.run(seconds(15), true);
    world.run(seconds(60), false);
    ASSERT_EQ(world.clusters(), 1U);
    ASSERT_EQ(world.formed_count(), expect);
    freed += world.freed();
  }
  EXPECT_GT(freed, 0U) << "no two proposals ever met";
}

TEST(FirstQuorum, NobodyProposesWhenASeedHasACluster) {
  FirstQuorum machine({.expect = 1, .founder_count = 1}, founder(0), Rng(1), {}, Instant{});
  machine.step(Instant{}, FirstQuorum::FoundersKnown{{{founder(0), false}, {founder(1), true}}});
  EXPECT_EQ(machine.next_deadline(), kNever);
}

TEST(FirstQuorum, HalfOfTheSeedsIsNotEnough) {
  EXPECT_FALSE((FirstQuorum::Config{.expect = 3, .founder_count = 6}.validate().has_value()));
  EXPECT_FALSE((FirstQuorum::Config{.expect = 2, .founder_count = 2}.validate().has_value()));
  EXPECT_TRUE((FirstQuorum::Config{.expect = 3, .founder_count = 5}.validate().has_value()));
}

TEST(FirstQuorum, AHeldPromiseRefusesOthersDurably) {
  FirstQuorum machine({.expect = 3, .founder_count = 3}, founder(0), Rng(1), {}, Instant{});
  const auto ask = [&](std::string_view cluster) {
    machine.step(Instant{}, FirstQuorum::PeerMessage{
                                founder(1), QuorumPropose{{ClusterId::from_bytes(cluster),
                                                           {founder(0), founder(1), founder(2)}}}});
    return machine.take_output();
  };
  ASSERT_EQ(ask("aaaaaaaaaaaaaaaa").persists.size(), 1U);
  machine.step(Instant{}, FirstQuorum::Persisted{1});
  EXPECT_EQ(std::get<QuorumPromise>(machine.take_output().messages.at(0).message).answer,
            PromiseAnswer::kPromised);
  const FirstQuorum::Output second = ask("bbbbbbbbbbbbbbbb");
  EXPECT_TRUE(second.messages.empty()) << "the refusal is not durable yet";
  ASSERT_EQ(second.persists.size(), 1U);
  machine.step(Instant{}, FirstQuorum::Persisted{2});
  EXPECT_EQ(std::get<QuorumPromise>(machine.take_output().messages.at(0).message).answer,
            PromiseAnswer::kRefused);
}

}  // namespace
}  // namespace muster::scheduler
