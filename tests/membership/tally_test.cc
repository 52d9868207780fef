// The arithmetic of verdicts and of the choice of observers, without time.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "gossip/base/rng.h"
#include "gossip/spread/overlay.h"
#include "gossip/wire/message.h"
#include "membership/codec.h"
#include "membership/evidence.h"
#include "membership/member.h"
#include "membership/membership.h"
#include "membership/rings.h"

namespace muster::membership {
namespace {

HostId host(std::uint64_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  const std::uint64_t mixed = mix64(number);
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(mixed >> (8 * i));
  }
  return HostId(bytes);
}

std::vector<Candidate> candidates(std::size_t count, std::size_t racks) {
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back({host(i), racks == 0 ? "" : "rack-" + std::to_string(i % racks)});
  }
  return all;
}

TEST(Thresholds, MatchTheTableOfSmallClusters) {
  struct Row {
    std::size_t hosts, verdict, suspect;
    int period_ms;
  };
  const Row rows[] = {{2, 1, 1, 500},   {3, 2, 1, 1000},  {4, 3, 1, 1500},  {5, 3, 2, 2000},
                      {6, 4, 2, 2500},  {7, 5, 2, 3000},  {8, 5, 3, 3500},  {9, 6, 3, 4000},
                      {10, 7, 3, 4500}, {11, 7, 3, 5000}, {12, 8, 4, 5000}, {10001, 7, 3, 5000}};
  for (const Row& row : rows) {
    const std::size_t observers = row.hosts > 12 ? kObserversMax : row.hosts - 1;
    EXPECT_EQ(verdict_threshold(observers), row.verdict) << row.hosts;
    EXPECT_EQ(suspect_threshold(observers), row.suspect) << row.hosts;
    EXPECT_EQ(to_ms(probe_period(observers)), row.period_ms) << row.hosts;
  }
}

TEST(Rings, EveryoneWatchesEveryoneUpToTwelveHosts) {
  for (std::size_t count = 1; count <= 12; ++count) {
    const auto observers = propose_observers(host(0), candidates(count, 3));
    EXPECT_EQ(observers.size(), count - 1);
    EXPECT_EQ(std::count(observers.begin(), observers.end(), host(0)), 0);
  }
}

TEST(Rings, GiveTenObserversAndBalancedSubjects) {
  for (const std::size_t count : {13U, 30U, 200U}) {
    const auto all = candidates(count, 0);
    std::map<HostId, int> subjects;
    for (const Candidate& subject : all) {
      const auto observers = propose_observers(subject.host, all);
      EXPECT_EQ(observers.size(), kObserversMax);
      EXPECT_TRUE(std::is_sorted(observers.begin(), observers.end()));
      for (const HostId& observer : observers) {
        EXPECT_NE(observer, subject.host);
        ++subjects[observer];
      }
    }
    for (const auto& [observer, watched] : subjects) {
      EXPECT_GE(watched, 5) << count;
      EXPECT_LE(watched, 16) << count;
    }
  }
}

TEST(Rings, SpreadTheObserversOverRacks) {
  for (const std::size_t racks : {4U, 5U, 10U}) {
    const auto all = candidates(100, racks);
    for (const Candidate& subject : all) {
      std::map<std::string, std::size_t> in_rack;
      for (const HostId& observer : propose_observers(subject.host, all)) {
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const Candidate& c) { return c.host == observer; });
        ++in_rack[found->rack];
      }
      for (const auto& [rack, count] : in_rack) {
        EXPECT_LE(count, racks < kRacksForStrictLimit ? 3U : 2U) << rack;
      }
    }
  }
}

TEST(Rings, OneRackStillGivesTenObservers) {
  EXPECT_EQ(propose_observers(host(5), candidates(40, 1)).size(), kObserversMax);
}

TEST(Rings, ANewHostChangesFewLists) {
  const auto before = candidates(200, 0);
  const auto after = candidates(201, 0);
  int changed = 0;
  for (const Candidate& subject : before) {
    changed += propose_observers(subject.host, before) != propose_observers(subject.host, after);
  }
  EXPECT_LE(changed, 16);
}

crdt::Claim claim(std::uint64_t subject, crdt::ClaimKind kind, bool weak = false) {
  return {host(subject), Generation(1), kind, weak};
}

TEST(Rows, OfAnEarlierStartSayNothing) {
  Membership membership(host(0), {Generation(1), StartId()}, "", Rng(1), Instant{});
  MemberChanged row{host(1), {Generation(3), StartId()}, "", {host(0)}, false};
  membership.step(Instant{}, row);
  row.start.generation = Generation(2);
  row.left = true;
  membership.step(Instant{}, row);
  EXPECT_EQ(membership.member(host(1))->start.generation, Generation(3));
  EXPECT_FALSE(membership.member(host(1))->left);
}

TEST(ClearHold, IsShorterWhileACutIsSuspectedAndForAgentsThatWereDown) {
  Member member;
  EXPECT_EQ(clear_hold(member, false), kClearHold);
  EXPECT_EQ(clear_hold(member, true), kClearHoldStorm);
  member.kind = crdt::ClaimKind::kRefused;
  EXPECT_EQ(clear_hold(member, false), kClearHoldRefused);
  EXPECT_EQ(clear_hold(member, true), kClearHoldRefused);
  member.verdicts = 2;
  EXPECT_EQ(clear_hold(member, true), kFlapHold);
}

TEST(Evidence, CountsOnlyObserversOfThisStart) {
  Evidence evidence;
  const Instant now{};
  const std::vector<HostId> observers{host(1), host(2), host(3)};
  evidence.replace(now, host(1), {claim(9, crdt::ClaimKind::kSilent)});
  evidence.replace(now, host(2), {claim(9, crdt::ClaimKind::kRefused)});
  evidence.replace(now, host(3), {claim(9, crdt::ClaimKind::kSilent, true)});
  evidence.replace(now, host(4), {claim(9, crdt::ClaimKind::kSilent)});
  const Tally tally = evidence.tally(host(9), Generation(1), observers);
  EXPECT_EQ(tally.strong, 2U);
  EXPECT_EQ(tally.refused, 1U);
  EXPECT_EQ(tally.weak, 1U);
  EXPECT_EQ(evidence.tally(host(9), Generation(2), observers).strong, 0U);
  EXPECT_EQ(evidence.accusations(host(9), Generation(1), observers).size(), 3U);
}

TEST(Evidence, WeakClaimsSayWhatKindWhereThereAreNoOthers) {
  EXPECT_EQ((Tally{.strong = 0, .weak = 2, .refused = 0, .weak_refused = 2}.kind()),
            crdt::ClaimKind::kRefused);
  EXPECT_EQ((Tally{.strong = 0, .weak = 2, .refused = 0, .weak_refused = 1}.kind()),
            crdt::ClaimKind::kSilent);
  EXPECT_EQ((Tally{.strong = 1, .weak = 2, .refused = 0, .weak_refused = 2}.kind()),
            crdt::ClaimKind::kSilent);
  EXPECT_EQ((Tally{.strong = 3, .weak = 0, .refused = 2, .weak_refused = 0}.kind()),
            crdt::ClaimKind::kRefused);
}

TEST(Evidence, ReplacingASetNamesTheSubjectsThatChanged) {
  Evidence evidence;
  evidence.replace(Instant{}, host(1),
                   {claim(7, crdt::ClaimKind::kSilent), claim(8, crdt::ClaimKind::kSilent)});
  const auto changed = evidence.replace(Instant{} + std::chrono::seconds(5), host(1),
                                        {claim(8, crdt::ClaimKind::kSilent)});
  EXPECT_EQ(changed, std::vector<HostId>{host(7)});
  EXPECT_EQ(evidence.accusations(host(8), Generation(1), {host(1)})[0].since, Instant{});
  EXPECT_TRUE(evidence.replace(Instant{}, host(1), {claim(8, crdt::ClaimKind::kSilent)}).empty());
}

TEST(Overlay, IsAMeshWhenSmallAndAFewOfEachRingBeyond) {
  gossip::OverlayView view;
  view.self = host(0);
  for (std::uint64_t i = 0; i < 12; ++i) {
    view.hosts.push_back(host(i));
  }
  EXPECT_EQ(gossip::choose_neighbours(view).size(), 11U);
  view.hosts.push_back(host(12));
  view.rings = {{host(0), {host(1), host(2)}, {}}, {host(3), {host(0), host(2)}, {}}};
  EXPECT_EQ(gossip::choose_neighbours(view), (std::vector<HostId>{host(1), host(2), host(3)}));
}

TEST(Overlay, WhoIsDoubtedIsNotTheOnlyNeighbour) {
  gossip::OverlayView view{host(0), {}, {}};
  for (std::uint64_t i = 0; i < 20; ++i) {
    view.hosts.push_back(host(i));
  }
  view.rings = {{host(0), {view.hosts.begin() + 1, view.hosts.begin() + 11}, {}}};
  auto& ring = view.rings[0];
  ring.trusted = ring.observers;
  const std::vector<HostId> before = gossip::choose_neighbours(view);
  ASSERT_EQ(before.size(), gossip::kRingNeighbours);
  for (const HostId& doubted : before) {
    std::erase(ring.trusted, doubted);
  }
  const std::vector<HostId> after = gossip::choose_neighbours(view);
  EXPECT_EQ(after.size(), 2 * gossip::kRingNeighbours);
  EXPECT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end()));
}

TEST(Overlay, BothEndsOfALinkChooseIt) {
  std::vector<HostId> hosts;
  std::vector<gossip::Ring> rings;
  for (std::uint64_t i = 0; i < 40; ++i) {
    hosts.push_back(host(i));
    rings.push_back({host(i), {}, {}});
    for (std::uint64_t step = 1; step <= 10; ++step) {
      rings.back().observers.push_back(host((i + step * 3) % 40));
    }
  }
  std::map<HostId, std::vector<HostId>> chosen;
  for (const HostId& self : hosts) {
    gossip::OverlayView view{self, hosts, {}};
    for (const gossip::Ring& ring : rings) {
      const auto& observers = ring.observers;
      if (ring.subject == self ||
          std::find(observers.begin(), observers.end(), self) != observers.end()) {
        view.rings.push_back(ring);
      }
    }
    chosen[self] = gossip::choose_neighbours(view);
    EXPECT_GE(chosen[self].size(), gossip::kRingNeighbours);
  }
  for (const auto& [self, neighbours] : chosen) {
    for (const HostId& neighbour : neighbours) {
      const auto& back = chosen.at(neighbour);
      EXPECT_TRUE(std::find(back.begin(), back.end(), self) != back.end());
    }
  }
}

TEST(Codec, BodiesComeBackAndTruncatedOnesAreRefused) {
  const Body bodies[] = {Probe{}, Ack{std::chrono::milliseconds(1234), Sequence(9)},
                         Call{host(1), Generation(2)}, Veto{host(3), Generation(4)},
                         Accuse{Generation(5), crdt::ClaimKind::kRefused}};
  for (const Body& body : bodies) {
    const auto parsed = gossip::Document::parse(encode(body));
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(decode_body(type_of(body), parsed->root()), body);
    const auto empty = gossip::Document::parse(gossip::Encoder().array(0).take());
    EXPECT_EQ(decode_body(type_of(body), empty->root()).has_value(), body.index() == 0);
  }
  const auto parsed = gossip::Document::parse(encode(bodies[1]));
  EXPECT_FALSE(decode_body(gossip::MessageType::kRows, parsed->root()).has_value());
}

}  // namespace
}  // namespace muster::membership
