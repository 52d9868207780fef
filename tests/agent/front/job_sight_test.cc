// A user sees sums of the jobs of other teams under the rule jobs=team.

#include "agent/front/job_sight.h"

#include <gtest/gtest.h>

#include "agent/front/use_model.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::agent {
namespace {

using namespace scheduler;           // NOLINT: what the log says
using namespace scheduler::testing;  // NOLINT: the fixture's verbs

/// Ann is in team vision, otto in team speech, oscar is an operator. Ann's job has two GPUs of host
/// 1, otto's job one.
class JobSightTest : public ::testing::Test {
 protected:
  JobSightTest() {
    log.apply(registration(1, 4));
    anns = submit("ann", "vision");
    ottos = submit("otto", "speech");
    log.run(anns, {member_of(1, 0, 2)});
    log.run(ottos, {member_of(1, 2, 1)});
    directory.found({"root"}, LogIndex(1));
    DirectoryChange change;
    change.teams = {{"vision"}, {"speech"}};
    change.users = {{"ann", false, {}, {"vision"}, {}},
                    {"mate", false, {}, {"vision"}, {}},
                    {"otto", false, {}, {"speech"}, {}},
                    {"oscar", false, UserRole::kOperator, {"speech"}, {}}};
    change.hides_other_teams = true;
    EXPECT_TRUE(directory.change(change, LogIndex(2)));
  }
  JobId submit(const std::string& user, const std::string& team) {
    entry::Submit fact = submission("key of " + user, user == "ann" ? 2 : 1);
    fact.spec.user = user;
    fact.spec.team = team;
    fact.spec.name = "secret plan of " + user;
    const ApplyResult done = log.apply(fact);
    EXPECT_EQ(done.rejected, "");
    return done.job;
  }
  JobSight sight(const std::string& user) const { return {log.state, directory, user}; }

  Log log;
  Directory directory;
  JobId anns;
  JobId ottos;
  crdt::AddressBook names;
};

TEST_F(JobSightTest, AUserSeesOwnTeamsAndOperatorsSeeAll) {
  EXPECT_TRUE(sight("ann").is_limited());
  EXPECT_TRUE(sight("ann").sees(anns));
  EXPECT_TRUE(sight("mate").sees(anns));
  EXPECT_FALSE(sight("ann").sees(ottos));
  EXPECT_FALSE(sight("oscar").is_limited());
  EXPECT_TRUE(sight("oscar").sees(anns));
  EXPECT_TRUE(sight("ann").sees_user("mate"));
  EXPECT_FALSE(sight("ann").sees_user("otto"));
  EXPECT_FALSE(sight("ann").sees(JobId(77))) << "nobody knows whose it is";
  DirectoryChange open;
  open.hides_other_teams = false;
  ASSERT_TRUE(directory.change(open, LogIndex(3)));
  EXPECT_FALSE(sight("ann").is_limited());
  EXPECT_TRUE(sight("ann").sees(ottos));
}

TEST_F(JobSightTest, AListCountsTheGpusOfTheRest) {
  JobList list;
  list.jobs.resize(2);
  list.jobs[0].id = anns;
  list.jobs[1].id = ottos;
  list.next = JobId(9);
  const JobList seen = sight("ann").seen(list);
  ASSERT_EQ(seen.jobs.size(), 1U);
  EXPECT_EQ(seen.jobs[0].id, anns);
  EXPECT_EQ(seen.next, JobId(9));
  EXPECT_EQ(seen.gpus_of_others, 1U);
  EXPECT_EQ(sight("oscar").seen(list), list);
}

TEST_F(JobSightTest, AHostNamesNoJobOfOthers) {
  const auto detail = host_detail(log.state, names, 0, host_id(1));
  ASSERT_TRUE(detail.has_value());
  const HostDetail seen = sight("ann").seen(*detail);
  EXPECT_EQ(seen.use.jobs, std::vector<JobId>{anns});
  EXPECT_EQ(seen.use.gpus_used, 3U);
  EXPECT_EQ(seen.gpus[0].user, "ann");
  EXPECT_EQ(seen.gpus[2].user, kOtherTeams);
  EXPECT_EQ(seen.gpus[2].job, JobId());
  EXPECT_EQ(seen.gpus[2].job_name, "");
  EXPECT_EQ(seen.gpus[2].token, Token());
  EXPECT_EQ(seen.gpus[2].state, "used");
}

TEST_F(JobSightTest, UsageHasOneRowForTheRest) {
  for (const std::string by : {"user", "name"}) {
    const auto list = usage_list(log.state, {by, 0}, sight("ann"));
    ASSERT_TRUE(list.has_value());
    bool has_others = false;
    for (const UsageRow& row : list->rows) {
      EXPECT_EQ(row.key.find("otto"), std::string::npos) << row.key;
      has_others |= row.key == kOtherTeams && row.gpus_now == 1;
    }
    EXPECT_TRUE(has_others) << by;
  }
}

TEST_F(JobSightTest, ReasonsNameNoJobOfOthers) {
  WhyInfo why;
  why.ahead = {anns, ottos};
  why.would_start = {anns, ottos};
  why.holders = {{anns, "secret plan of ann", 2, {"h"}, 2'000},
                 {ottos, "secret plan of otto", 1, {"h"}, 1'000}};
  const WhyInfo seen = sight("ann").seen(why);
  EXPECT_EQ(seen.ahead, std::vector<JobId>{anns});
  EXPECT_TRUE(seen.would_start.empty());
  ASSERT_EQ(seen.holders.size(), 2U);
  EXPECT_EQ(seen.holders[1], (HolderInfo{JobId(), kOtherTeams, 1, {}, 1'000}));
  EXPECT_EQ(sight("oscar").seen(why), why);
}

TEST_F(JobSightTest, EventsOfOthersJobsAreLeftOut) {
  const JobSight ann = sight("ann");
  EXPECT_TRUE(ann.sees_event("job_running job=" + text_of(anns) + " index=9"));
  EXPECT_FALSE(ann.sees_event("job_running job=" + text_of(ottos) + " index=9"));
  EXPECT_FALSE(ann.sees_event("job_running job=77"));
  EXPECT_TRUE(ann.sees_event("host_alive host=h"));
  EXPECT_TRUE(sight("oscar").sees_event("job_running job=77"));
}

}  // namespace
}  // namespace muster::agent
