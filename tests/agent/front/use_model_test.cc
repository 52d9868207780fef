// The use of the GPUs, read off the log: hosts, GPUs, sums by user, type and name.

#include "agent/front/use_model.h"

#include <gtest/gtest.h>

#include "tests/scheduler/state/cluster.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace scheduler;             // NOLINT: what the log says
using namespace scheduler::testing;    // NOLINT: the fixture's verbs

/// Two hosts; job 1 of two GPUs runs on the first.
class UseModel : public ::testing::Test {
 protected:
  UseModel() {
    log.apply(registration(1, 4));
    log.apply(registration(2, 4, 1, "A100"));
    job = log.submit(2);
    token = log.run(job, {member_of(1, 0, 2)});
  }
  HostUse use(std::uint64_t host) const {
    for (const HostUse& each : host_uses(log.state, names, 0, HostId()).hosts) {
      if (each.id == host_id(host)) {
        return each;
      }
    }
    return {};
  }
  UsageList usage(const std::string& by, std::uint64_t since_ms = 0) const {
    return usage_list(log.state, {by, since_ms}, sight).value_or(UsageList());
  }

  Log log;
  JobSight sight{log.state, log.state.directory(), ""};
  JobId job;
  Token token;
  crdt::AddressBook names;
};

TEST_F(UseModel, AHostSaysWhatIsUsedAndByWhom) {
  EXPECT_EQ(use(1).gpus_used, 2U);
  EXPECT_EQ(use(1).gpus_free, 2U);
  EXPECT_EQ(use(1).jobs, std::vector<JobId>{job});
  EXPECT_EQ(use(2).gpus_used, 0U);
  log.apply(entry::Drain{host_id(1), {"ann@a"}, "fan", true, 60s});
  EXPECT_TRUE(use(1).is_drained);
  EXPECT_EQ(use(1).gpus_free, 0U);
  EXPECT_EQ(use(1).drain.requeue_in_ms, 60'000U);
  log.apply(entry::Tick{20s});
  EXPECT_EQ(use(1).drain.requeue_in_ms, 40'000U);
}

TEST_F(UseModel, APageEndsWhereTheNextBegins) {
  EXPECT_TRUE(host_uses(log.state, names, 0, HostId()).next.is_zero());
  EXPECT_EQ(host_uses(log.state, names, 0, host_id(1)).hosts.size(), 1U);
}

TEST_F(UseModel, EachGpuHasAState) {
  log.observe(1, Verdict::kAlive);
  const auto detail = host_detail(log.state, names, 0, host_id(1));
  ASSERT_TRUE(detail.has_value());
  ASSERT_EQ(detail->gpus.size(), 4U);
  EXPECT_EQ(detail->gpus[1].state, "used");
  EXPECT_EQ(detail->gpus[1].job, job);
  EXPECT_EQ(detail->gpus[1].rank, 1U);
  EXPECT_EQ(detail->gpus[2].state, "free");
  log.observe(1, Verdict::kSilent);
  EXPECT_EQ(host_detail(log.state, names, 0, host_id(1))->gpus[2].state, "withheld");
  EXPECT_FALSE(host_detail(log.state, names, 0, host_id(9)).has_value());
}

TEST_F(UseModel, WhatIsHeldCountsAndWhatWasGivenBackStays) {
  log.apply(entry::Tick{100s});
  UsageList list = usage("type");
  ASSERT_EQ(list.rows.size(), 1U);
  EXPECT_EQ(list.rows[0].key, "H100");
  EXPECT_EQ(list.rows[0].gpus_now, 2U);
  EXPECT_EQ(list.rows[0].jobs_now, 1U);
  EXPECT_EQ(list.rows[0].gpu_ms, 200'000U);
  log.finish(token, member_of(1, 0, 2), 0);
  log.apply(entry::Tick{50s});
  list = usage("type");
  EXPECT_EQ(list.rows[0].gpus_now, 0U);
  EXPECT_EQ(list.rows[0].gpu_ms, 200'000U);
  EXPECT_EQ(usage("name").rows.at(0).gpu_ms, 200'000U);
  EXPECT_EQ(usage("name").days, 0U);
  EXPECT_FALSE(usage_list(log.state, {"rack", 0}, sight).has_value());
}

TEST_F(UseModel, OfDaysLongPastOnlyThoseWanted) {
  log.apply(entry::Tick{1h});
  log.finish(token, member_of(1, 0, 2), 0);
  for (int hour = 0; hour < 72; ++hour) {
    log.apply(entry::Tick{1h});
  }
  EXPECT_EQ(usage("user").rows.size(), 1U);
  EXPECT_EQ(usage("user").days, 4U);
  EXPECT_TRUE(usage("user", 24 * 3'600'000).rows.empty());
  EXPECT_EQ(usage("user", 24 * 3'600'000).days, 2U);
}

/// The list of GPUs on two hosts, of which job 1 holds two.
class GpusOfModel : public UseModel {
 protected:
  std::vector<ListedGpu> gpus(const GpusQuery& query = {}) const {
    return sight.seen(gpu_list(log.state, names, 60'000, query), query.job).gpus;
  }
  ListedGpu gpu(std::uint64_t host, std::uint32_t index) const {
    GpusQuery query;
    query.uuid = uuid_of(host, index);
    return gpus(query).at(0);
  }
};

TEST_F(GpusOfModel, EachSaysItsHolderAndWhatTheLogKnowsOfIt) {
  entry::Observe sick;
  sick.host = host_id(1);
  sick.quarantined = {uuid_of(1, 2)};
  sick.unhealthy_gpus = {uuid_of(1, 3)};
  log.apply(sick);
  log.apply(entry::GpuOrder{host_id(1), uuid_of(1, 1), true, "fan 3", {"ann@a"}});
  EXPECT_EQ(gpus().size(), 8U);
  EXPECT_EQ(gpu(1, 0).state, "healthy");
  EXPECT_EQ(gpu(1, 0).job, job);
  EXPECT_EQ(gpu(1, 0).user, log.state.job(job)->spec.user);
  EXPECT_EQ(gpu(1, 0).token, token);
  EXPECT_EQ(gpu(1, 0).host_name, "host1");
  EXPECT_EQ(gpu(1, 1).state, "masked");
  EXPECT_EQ(gpu(1, 1).why, "fan 3");
  EXPECT_EQ(gpu(1, 1).by, "ann@a");
  EXPECT_EQ(gpu(1, 1).job, job) << "it goes on";
  EXPECT_EQ(gpu(1, 2).state, "quarantined");
  EXPECT_EQ(gpu(1, 3).state, "unhealthy");
  EXPECT_EQ(gpu(1, 3).index, 3U);
  EXPECT_EQ(gpu(2, 0).gpu_type, "A100");
  log.observe(2, Verdict::kSilent);
  EXPECT_EQ(gpu(2, 0).state, "unreachable");
}

TEST_F(GpusOfModel, AMaskedOneComesFirstAndSaysSinceWhen) {
  log.state.apply(log.index().next(),
                  entry::GpuOrder{host_id(2), uuid_of(2, 0), true, "fan", {"b"}}, 20'000);
  EXPECT_EQ(gpu(2, 0).since_ms, 40'000U);
  EXPECT_EQ(host_detail(log.state, names, 0, host_id(2))->gpus[0].state, "masked");
}

TEST_F(GpusOfModel, AQueryNamesAHostAJobOrTheFirstCharactersOfAUuid) {
  GpusQuery query;
  query.host = host_id(2);
  EXPECT_EQ(gpus(query).size(), 4U);
  query = {};
  query.job = job;
  EXPECT_EQ(gpus(query).size(), 2U);
  query.job = JobId(77);
  EXPECT_TRUE(gpus(query).empty());
  query = {};
  query.uuid = "GPU-2";
  EXPECT_EQ(gpus(query).size(), 4U);
  query.after = host_id(2);
  EXPECT_TRUE(gpus(query).empty());
}

TEST_F(GpusOfModel, AMaskOfAGpuThatIsGoneIsListedForItsUnmask) {
  log.apply(entry::GpuOrder{host_id(2), uuid_of(2, 3), true, "fan", {"ann@a"}});
  log.apply(registration(2, 2, 2, "A100"));
  EXPECT_EQ(gpu(2, 3).state, "masked");
  EXPECT_EQ(gpu(2, 3).why, "fan; its host does not register it now");
  log.apply(entry::GpuOrder{host_id(2), uuid_of(2, 3), false, "sold", {"ann@a"}});
  GpusQuery query;
  query.uuid = uuid_of(2, 3);
  EXPECT_TRUE(gpus(query).empty());
}

TEST(WallAge, IsNothingWhereAClockIsNotKnownOrRanBack) {
  EXPECT_EQ(wall_age_ms(5'000, 2'000), 3'000U);
  EXPECT_EQ(wall_age_ms(2'000, 5'000), 0U);
  EXPECT_EQ(wall_age_ms(0, 5'000), 0U);
  EXPECT_EQ(wall_age_ms(5'000, 0), 0U);
}

}  // namespace
}  // namespace muster::agent
