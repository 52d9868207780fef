// The views that people read of large clusters and of jobs that wait.

#include "agent/front/read_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/front/why_model.h"
#include "gossip/base/rng.h"
#include "gossip/wire/wire.h"
#include "membership/rings.h"
#include "scheduler/policy/pending_index.h"
#include "scheduler/why/explain.h"
#include "tests/gossip/base/stand_in_keys.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::agent {
namespace {

using namespace scheduler::testing;  // NOLINT: hosts, jobs and entries in one line each.

class ReadModelTest : public ::testing::Test {
 protected:
  WhyInfo why_of(JobId job) { return why_info(known(), views(), job); }
  HostViews views() {
    return {addresses_,
            [this](HostId host) -> const membership::Member* {
              const auto found = members_.find(host);
              return found == members_.end() ? nullptr : &found->second;
            },
            Instant()};
  }
  void see(std::uint64_t host, membership::MemberState state) {
    members_[host_id(host)].state = state;
  }
  JobsKnown known() {
    capacity_.emplace(log_.state);
    pending_.emplace(log_.state);
    return {log_.state, *capacity_, pending_->queue()};
  }
  std::uint64_t withheld(const WhyInfo& why, const std::string& reason) const {
    for (const WithheldInfo& each : why.withheld) {
      if (each.reason == reason) {
        return each.gpus;
      }
    }
    return 0;
  }

  Log log_;
  std::optional<scheduler::Capacity> capacity_;
  std::optional<scheduler::PendingIndex> pending_;
  crdt::AddressBook addresses_;
  std::map<HostId, membership::Member> members_;
};

TEST_F(ReadModelTest, AHostSaysWhereItAnswersHttps) {
  crdt::HostStore store(host_id(9), Generation(1), {}, Rng(1),
                        gossip::testing::signer_of(host_id(9)));
  crdt::Identity identity;
  identity.control = gossip::Endpoint::ipv4(10, 0, 0, 7, 7450);
  for (const std::uint64_t host : {1, 2}) {
    members_[host_id(host)].host = host_id(host);
    addresses_.learn(host_id(host), identity);
    identity.https = gossip::Endpoint::ipv4(10, 0, 0, 7, 7449);
  }
  const HostsKnown known{members_, [](HostId) { return std::vector<membership::Accusation>(); },
                         store,    addresses_,
                         {},       Instant()};
  EXPECT_EQ(why_host_info(known, host_id(1))->host.https, "");
  EXPECT_EQ(why_host_info(known, host_id(2))->host.https, "10.0.0.7:7449");
}

TEST_F(ReadModelTest, WhyAHostIsSeenAsItIsSaysWhoHearsIt) {
  crdt::HostStore store(host_id(9), Generation(1), {}, Rng(1),
                        gossip::testing::signer_of(host_id(9)));
  membership::Member& member = members_[host_id(1)];
  member.host = host_id(1);
  member.state = membership::MemberState::kSuspect;
  for (std::uint64_t observer = 2; observer <= 6; ++observer) {
    member.observers.push_back(host_id(observer));
  }
  HostsKnown known{
      members_,
      [](HostId) {
        return std::vector<membership::Accusation>{
            {host_id(3), crdt::ClaimKind::kSilent, false, Instant()},
            {host_id(5), crdt::ClaimKind::kRefused, true, Instant() + std::chrono::seconds(3)}};
      },
      store,
      addresses_,
      {},
      Instant() + std::chrono::seconds(5)};
  const std::optional<WhyHostInfo> why = why_host_info(known, host_id(1));
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ(why->host.state, "suspect");
  ASSERT_EQ(why->claims.size(), 2U);
  EXPECT_EQ(why->claims[0].observer, host_id(3).short_hex());
  EXPECT_EQ(why->claims[0].kind, "silent");
  EXPECT_EQ(why->claims[0].age_ms, 5000U);
  EXPECT_FALSE(why->claims[0].is_weak);
  EXPECT_EQ(why->claims[1].kind, "agent_down");
  EXPECT_EQ(why->claims[1].age_ms, 2000U);
  EXPECT_TRUE(why->claims[1].is_weak);
  std::vector<std::string> content = {host_id(2).short_hex(), host_id(4).short_hex(),
                                      host_id(6).short_hex()};
  std::sort(content.begin(), content.end());
  EXPECT_EQ(why->content, content);
  EXPECT_EQ(why->suspect_from, membership::suspect_threshold(5));
  EXPECT_EQ(why->verdict_from, membership::verdict_threshold(5));
  EXPECT_FALSE(why_host_info(known, host_id(2)).has_value());
}

TEST_F(ReadModelTest, WhyNamesWhatTheLeaderLeavesOut) {
  log_.apply(registration(1, 8));
  log_.apply(registration(2, 8));
  const JobId job = log_.submit(16);
  EXPECT_NE(why_of(job).headline.find("it fits and starts now"), std::string::npos);
  HostViews seen = views();
  seen.left_out_by_leader[host_id(2)] = "a voter that is silent";
  const WhyInfo why = why_info(known(), seen, job);
  EXPECT_NE(why.headline.find("it lacks 8 GPUs, 8 are free"), std::string::npos) << why.headline;
  EXPECT_EQ(withheld(why, "a voter that is silent"), 8U);
}

TEST_F(ReadModelTest, WhyTellsOnlyTheClosenessThatARequestCanHave) {
  const auto levels = [this](JobId job) {
    std::string text;
    for (const WhyLevel& each : why_of(job).largest) {
      text += (text.empty() ? "" : " ") + each.level;
    }
    return text;
  };
  log_.apply(registration(1, 8));
  log_.apply(registration(2, 8));
  EXPECT_EQ(levels(log_.submit(17)), "island host any");
  auto apart = submission("apart", 4);
  apart.spec.request.gpus_per_host = 2;
  EXPECT_EQ(levels(log_.apply(apart).job), "any") << "it takes two hosts";
  auto racked = registration(3, 8);
  racked.traits.rack = "r1";
  racked.traits.spine = "s1";
  log_.apply(racked);
  EXPECT_EQ(levels(log_.submit(17)), "island host rack spine any");
}

TEST_F(ReadModelTest, WhyTellsTheLimitThatEndedARank) {
  log_.apply(registration(1, 8));
  const JobId job = log_.submit(2);
  const scheduler::Member member = member_of(1, 0, 2);
  const Token token = log_.run(job, {member});
  std::vector<scheduler::RankResult> results = results_of(member, 9);
  for (scheduler::RankResult& result : results) {
    result.kind = scheduler::RankResult::Kind::kSignalled;
  }
  results[1].detail = "out of memory: 71M of 64M";
  log_.apply(scheduler::entry::Finish{token, member.host, member.start, results, true});
  log_.apply(scheduler::entry::Stop{token, scheduler::Cause::kRankFailed});
  EXPECT_TRUE(why_of(job).headline.ends_with(": out of memory: 71M of 64M"))
      << why_of(job).headline;
  EXPECT_NE(why_of(job).headline.find("; rank 1 on host "), std::string::npos);
}

TEST_F(ReadModelTest, WithoutALeaderWhyPromisesNothing) {
  log_.apply(registration(1, 8));
  const JobId holder = log_.submit(8);
  log_.decide(holder, {member_of(1, 0, 8)});
  const JobId job = log_.submit(1);
  EXPECT_NE(why_of(job).headline.find("it lacks 1 GPU, 0 are free"), std::string::npos);
  EXPECT_EQ(why_of(job).would_start, std::vector<JobId>{holder});
  HostViews seen = views();
  seen.unled = "no leader is known";
  const WhyInfo why = why_info(known(), seen, job);
  EXPECT_EQ(why.headline, "no leader is known");
  EXPECT_TRUE(why.would_start.empty());
  EXPECT_EQ(why.fits_now, 0U);
  EXPECT_EQ(why_info(known(), seen, holder).headline, why_of(holder).headline)
      << "one that has its GPUs waits for no placement";
}

TEST_F(ReadModelTest, WithoutALeaderNobodyIsSaidToGiveAGangUp) {
  log_.apply(registration(1, 8));
  const JobId job = log_.submit(8);
  log_.run(job, {member_of(1, 0, 8)});
  see(1, membership::MemberState::kUnreachable);
  EXPECT_NE(why_of(job).headline.find("requeued elsewhere"), std::string::npos)
      << why_of(job).headline;
  HostViews seen = views();
  seen.unled = "no leader is known";
  EXPECT_EQ(why_info(known(), seen, job).headline,
            "some of its hosts do not answer; no leader is known");
}

TEST_F(ReadModelTest, WhyNamesTheGpusThatNoEndFrees) {
  for (std::uint64_t host = 1; host <= 5; ++host) {
    log_.apply(registration(host, 8));
  }
  scheduler::entry::Observe sick;
  sick.host = host_id(1);
  sick.quarantined = uuids_of(1, 2);
  sick.unhealthy_gpus = {uuid_of(1, 5)};
  log_.apply(sick);
  scheduler::entry::Observe cordoned;
  cordoned.host = host_id(2);
  cordoned.health = scheduler::Health::kCordoned;
  log_.apply(cordoned);
  log_.observe(3, scheduler::Verdict::kSilent);
  see(4, membership::MemberState::kSuspect);
  log_.apply(scheduler::entry::GpuOrder{host_id(1), uuid_of(1, 0), true, "fan", {"ann@a"}});
  log_.apply(scheduler::entry::GpuOrder{host_id(1), uuid_of(1, 6), true, "fan", {"ann@a"}});
  const WhyInfo why = why_of(log_.submit(40));
  EXPECT_EQ(why.free, 12U) << "four of host 1 and all of host 5";
  EXPECT_EQ(withheld(why, "masked"), 2U) << "also one that is quarantined, too";
  EXPECT_EQ(withheld(why, "quarantined"), 1U);
  EXPECT_EQ(withheld(why, "unhealthy"), 1U);
  EXPECT_EQ(withheld(why, "host cordoned"), 8U);
  EXPECT_EQ(withheld(why, "host unreachable"), 8U);
  EXPECT_EQ(withheld(why, "host suspect"), 8U);
}

TEST_F(ReadModelTest, WhyDoesNotPromiseAStartOnAHostThatIsNotPlaceable) {
  log_.apply(registration(1, 8));
  const JobId job = log_.submit(8);
  EXPECT_NE(why_of(job).headline.find("it fits and starts now"), std::string::npos);
  see(1, membership::MemberState::kUnreachable);
  EXPECT_NE(why_of(job).headline.find("it lacks 8 GPUs"), std::string::npos);
  EXPECT_EQ(withheld(why_of(job), "host unreachable"), 8U);
}

TEST_F(ReadModelTest, WhyNamesTheHostsThatAJobLeavesOut) {
  log_.apply(registration(1, 8));
  const JobId job = log_.submit(8);
  const Token token = log_.decide(job, {member_of(1, 0, 8)});
  log_.apply(scheduler::entry::Abort{token, scheduler::Cause::kRefused, host_id(1)});
  const WhyInfo why = why_of(job);
  EXPECT_EQ(why.left_out, std::vector<std::string>{addresses_.name(host_id(1))});
  EXPECT_EQ(why.free, 0U);
}

TEST_F(ReadModelTest, WhyCountsAllThatAreAheadAndPromisesNothingBehindThem) {
  log_.apply(registration(1, 8));
  log_.run(log_.submit(4), {member_of(1, 0, 4)});
  const JobId first = log_.submit(8);
  for (int i = 0; i < 29; ++i) {
    log_.submit(8);
  }
  const JobId last = log_.submit(8);
  EXPECT_EQ(why_of(first).would_start.size(), 1U);
  EXPECT_EQ(why_of(first).fits_now, 4U);
  const WhyInfo why = why_of(last);
  EXPECT_EQ(why.ahead_count, 30U);
  EXPECT_EQ(why.ahead.size(), scheduler::kWhyAheadMax);
  EXPECT_TRUE(why.would_start.empty());
  EXPECT_EQ(why.fits_now, 0U);
}

TEST_F(ReadModelTest, WhySaysThatTheQueueWaitsForHostsAfterARecovery) {
  log_.apply(registration(1, 8));
  const JobId job = log_.submit(4);
  log_.state.begin_epoch(2, LogIndex());
  const WhyInfo why = why_of(job);
  EXPECT_TRUE(why.awaits_hosts);
  EXPECT_NE(why.headline.find("the queue waits for hosts"), std::string::npos);
  EXPECT_EQ(withheld(why, "host has to register again"), 8U);
}

TEST_F(ReadModelTest, PagesNameEachOfTenThousandHostsOnce) {
  constexpr std::uint64_t kCount = 10'000;
  for (std::uint64_t host = 1; host <= kCount; ++host) {
    members_[host_id(host)].host = host_id(host);
    crdt::Identity identity;
    identity.name = "a-host-with-a-name-of-usual-length-" + std::to_string(host);
    addresses_.learn(host_id(host), identity);
  }
  const crdt::HostStore store(host_id(1), Generation(1), {}, Rng(2),
                              gossip::testing::signer_of(host_id(1)));
  const HostsKnown known{members_, [](HostId) { return std::vector<membership::Accusation>(); },
                         store,    addresses_,
                         {},       Instant()};
  std::set<HostId> ids;
  HostId after;
  do {
    const std::string bytes = encode_payload(hosts_page(known, after));
    EXPECT_LT(bytes.size(), gossip::kMessageBytesMax - 1024);
    const auto page = decode_payload<HostList>(bytes);
    ASSERT_TRUE(page.has_value());
    for (const HostInfo& host : page->hosts) {
      EXPECT_TRUE(after < host.id && ids.insert(host.id).second);
    }
    after = page->next;
  } while (!after.is_zero());
  EXPECT_EQ(ids.size(), kCount);
}

TEST_F(ReadModelTest, OfTenThousandHoldersTheLargestAreNamedAndTheOthersCounted) {
  constexpr std::uint64_t kHosts = 1251;
  scheduler::State& state = log_.state;
  std::uint64_t index = 0;
  const auto apply = [&](const scheduler::Entry& entry) {
    return state.apply(LogIndex(++index), entry).job;
  };
  const auto hold = [&](std::uint64_t host, std::uint32_t first, std::uint32_t count) {
    scheduler::entry::Decide fact;
    fact.job = apply(submission("key" + std::to_string(index), count));
    fact.attempt = 1;
    fact.members = {member_of(host, first, count)};
    fact.hold = std::chrono::minutes(2);
    fact.grace = std::chrono::seconds(10);
    fact.deadline = std::chrono::seconds(10);
    apply(fact);
    return fact.job;
  };
  for (std::uint64_t host = 1; host <= kHosts; ++host) {
    apply(registration(host, 8));
  }
  for (std::uint64_t host = 1; host < kHosts; ++host) {
    for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
      hold(host, gpu, 1);
    }
  }
  const JobId largest = hold(kHosts, 0, 2);
  const JobId waits = apply(submission("waits", 4000));
  const std::string bytes = encode_payload(why_of(waits));
  EXPECT_LT(bytes.size(), gossip::kMessageBytesMax - 1024);
  const auto why = decode_payload<WhyInfo>(bytes);
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ(why->holders.at(0).job, largest);
  EXPECT_EQ(why->holders.size(), kHoldersListedMax);
  EXPECT_EQ(why->holders.size() + why->holders_more, 10'001U);
}

TEST_F(ReadModelTest, OfEightLargeAttemptsTheNewestAreListedAsFarAsTheyFit) {
  constexpr std::uint64_t kHosts = 512;
  const std::string tail = "-as-long-as-a-uuid-is-in-life";
  for (std::uint64_t host = 1; host <= kHosts; ++host) {
    scheduler::entry::Register fact = registration(host, 8);
    std::for_each(fact.gpus.begin(), fact.gpus.end(), [&](std::string& uuid) { uuid += tail; });
    log_.apply(fact);
  }
  const JobId job = log_.submit(4096);
  for (int attempt = 0; attempt < 8; ++attempt) {
    std::vector<scheduler::Member> members;
    for (std::uint64_t host = 1; host <= kHosts; ++host) {
      const auto first_rank = static_cast<std::uint32_t>((host - 1) * 8);
      members.push_back(member_of(host, 0, 8, first_rank));
      for (scheduler::GpuSlot& gpu : members.back().gpus) {
        gpu.uuid = gpu.uuid.text() + tail;
      }
    }
    const Token token = log_.decide(job, std::move(members));
    ASSERT_FALSE(token.is_none());
    if (attempt < 7) {
      log_.apply(scheduler::entry::Abort{token, scheduler::Cause::kDeadline, host_id(1)});
    }
  }
  const std::string bytes = encode_payload(*job_detail(known(), views(), job));
  EXPECT_LT(bytes.size(), gossip::kMessageBytesMax - 1024);
  const auto detail = decode_payload<JobDetail>(bytes);
  ASSERT_TRUE(detail.has_value());
  ASSERT_EQ(detail->attempts.size(), 8U);
  EXPECT_EQ(detail->attempts.back().number, 8U);
  EXPECT_EQ(detail->attempts.back().members.size(), kHosts);
  EXPECT_TRUE(detail->attempts.front().members.empty());
  for (const AttemptInfo& attempt : detail->attempts) {
    EXPECT_EQ(attempt.members.size() + attempt.members_left_out, kHosts);
  }
}

}  // namespace
}  // namespace muster::agent
