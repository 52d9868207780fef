// A user sees sums of the jobs of other teams under the rule jobs=team.

#include "agent/front/job_sight.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/front/array_model.h"
#include "agent/front/read_model.h"
#include "agent/front/use_model.h"
#include "agent/front/why_model.h"
#include "scheduler/policy/pending_index.h"
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
  JobId submit(const std::string& user, const std::string& team, std::vector<Dependency> after = {},
               bool is_array = false) {
    entry::Submit fact = submission("key " + std::to_string(log.index().value()) + " of " + user,
                                    user == "ann" ? 2 : 1);
    fact.spec.eligibility.after = std::move(after);
    if (is_array) {
      fact.spec.array = ArrayRange{0, 3, 0};
    }
    fact.spec.user = user;
    fact.spec.team = team;
    fact.spec.name = "secret plan of " + user;
    const ApplyResult done = log.apply(fact);
    EXPECT_EQ(done.rejected, "");
    return done.job;
  }
  JobSight sight(const std::string& user) const { return {log.state, directory, user}; }
  JobsKnown known() {
    capacity.emplace(log.state);
    pending.emplace(log.state);
    return {log.state, *capacity, pending->queue()};
  }
  JobDetail detail_of(JobId id) {
    const TaskArray* array = log.state.array(id);
    return array != nullptr ? array_detail(log.state, *array, views)
                            : *job_detail(known(), views, id);
  }
  WhyInfo why_of(JobId id) {
    const TaskArray* array = log.state.array(id);
    return array != nullptr ? why_array(known(), views, *array) : why_info(known(), views, id);
  }
  JobSummary listed(const JobList& list, JobId id) {
    for (const JobSummary& each : list.jobs) {
      if (each.id == id) {
        return each;
      }
    }
    ADD_FAILURE() << "job " << text_of(id) << " is not listed";
    return {};
  }

  Log log;
  Directory directory;
  JobId anns;
  JobId ottos;
  crdt::AddressBook names;
  HostViews views{names, [](HostId) { return nullptr; }, Instant()};
  std::optional<Capacity> capacity;
  std::optional<PendingIndex> pending;
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

TEST_F(JobSightTest, AConditionDoesNotSayHowAJobOfOthersStands) {
  for (const bool is_array : {false, true}) {
    const JobId job =
        submit("ann", "vision", {{Ending::kAny, ottos}, {Ending::kOk, anns}}, is_array);
    const std::vector<WaitItem> all = {{"any:2", "running"}, {"ok:1", "running"}};
    const std::vector<WaitItem> hidden = {{"any:2", ""}, {"ok:1", "running"}};
    const JobList list = jobs_page(known(), views, JobId());
    ASSERT_EQ(listed(list, job).wait.after, all);
    EXPECT_EQ(listed(sight("ann").seen(list), job).wait.after, hidden);
    EXPECT_EQ(listed(sight("ann").seen(list), job).reason, "after 2, 1");
    const JobDetail detail = detail_of(job);
    ASSERT_EQ(detail.summary.wait.after, all);
    EXPECT_EQ(sight("ann").seen(detail).summary.wait.after, hidden);
    EXPECT_EQ(sight("oscar").seen(detail), detail);
    const WhyInfo why = why_of(job);
    ASSERT_EQ(why.wait.after, all);
    ASSERT_EQ(why.headline, "it waits until job 2 ended (running) and job 1 succeeded (running)");
    EXPECT_EQ(sight("ann").seen(why).wait.after, hidden);
    EXPECT_EQ(sight("ann").seen(why).headline,
              "it waits until job 2 ended and job 1 succeeded (running)");
    EXPECT_EQ(sight("oscar").seen(why), why);
  }
}

TEST_F(JobSightTest, AnEndDoesNotSayHowAJobOfOthersEnded) {
  const JobId other = submit("otto", "speech");
  const JobId job = submit("ann", "vision", {{Ending::kOk, other}});
  const JobId array = submit("ann", "vision", {{Ending::kOk, other}}, true);
  log.apply(entry::Cancel{other, {"otto"}});
  const std::string told = "it was to start after job 3 succeeded, and job 3 was cancelled";
  const std::string seen = "it was to start after job 3 succeeded, and that can never be";
  for (const JobId id : {job, array}) {
    const JobDetail detail = detail_of(id);
    ASSERT_EQ(detail.summary.reason, told);
    ASSERT_TRUE(id == array || detail.transitions.back().cause == told);
    const JobDetail by_ann = sight("ann").seen(detail);
    EXPECT_EQ(by_ann.summary.reason, seen);
    EXPECT_EQ(by_ann.summary.cause, seen);
    EXPECT_TRUE(id == array || by_ann.transitions.back().cause == seen);
    EXPECT_EQ(sight("ann").seen(why_of(id)).headline, seen);
    EXPECT_EQ(listed(sight("ann").seen(jobs_page(known(), views, JobId())), id).reason, seen);
    EXPECT_EQ(sight("oscar").seen(detail), detail);
    const std::string event = "job_cancelled job=" + text_of(id) + " cause=";
    EXPECT_EQ(sight("ann").seen_event(event + told + " index=9"), event + seen + " index=9");
    EXPECT_EQ(sight("oscar").seen_event(event + told), event + told);
  }
}

TEST_F(JobSightTest, ASubmitMayNotWaitForAJobThatIsHidden) {
  const JobId array = submit("otto", "speech", {}, true);
  for (const JobId hidden : {ottos, array, task_id(array, 0), task_id(array, 99)}) {
    const Status status = sight("ann").check_after({{{Ending::kAny, hidden}}, {}, {}});
    const auto unknown = State().wait_of({{{Ending::kAny, hidden}}, {}, {}}, 0);
    ASSERT_FALSE(status);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(status.error().code, unknown.error().code);
    EXPECT_EQ(status.error().text, unknown.error().text);
    EXPECT_TRUE(sight("otto").check_after({{{Ending::kAny, hidden}}, {}, {}}));
    EXPECT_TRUE(sight("oscar").check_after({{{Ending::kAny, hidden}}, {}, {}}));
  }
  const Status second =
      sight("ann").check_after({{{Ending::kAny, anns}, {Ending::kOk, ottos}}, {}, {}});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text.find("item 2 `ok:2`"), std::string::npos) << second.error().text;
  EXPECT_TRUE(sight("ann").check_after({{{Ending::kAny, anns}}, {}, {}}));
  EXPECT_TRUE(sight("ann").check_after({{{Ending::kAny, JobId(77)}, {Ending::kOk, ottos}}, {}, {}}))
      << "the log refuses the first item";
}

}  // namespace
}  // namespace muster::agent
