// Jobs that wait for others or for a time: what a submit sends, and what jobs, show and why say.

#include <gtest/gtest.h>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::Eligibility;
using scheduler::Ending;

Eligibility sent_by(FakeWorld& world) {
  const auto arguments = agent::decode_payload<agent::SubmitArgs>(world.requests().at(0).arguments);
  return arguments.value_or(agent::SubmitArgs{}).spec.eligibility;
}

TEST(Waits, ASubmitSendsSpans) {
  FakeWorld world;
  world.answers(answer_with(agent::JobRef{JobId(17)}));
  world.output_of({"submit", "--after", "ok:7,fail:8.3", "--begin", "22:00", "--deadline",
                   "2026-11-29T06:00", "--array", "0-3", "--", "train"});
  const Eligibility wanted{
      {{Ending::kOk, JobId(7)}, {Ending::kFail, task_id(JobId(8), 3)}}, 10h, 18h};
  EXPECT_EQ(sent_by(world), wanted);
}

TEST(Waits, ADeadlineByTheClockIsThatAfterTheBegin) {
  FakeWorld world;
  world.wall_unix_ms += 11 * std::uint64_t{3'600'000};  // 23:00
  world.answers(answer_with(agent::JobRef{JobId(17)}));
  world.output_of({"submit", "--begin", "22:00", "--deadline", "06:00", "--", "train"});
  EXPECT_EQ(sent_by(world), (Eligibility{{}, 23h, 31h}));
}

TEST(Waits, AWrongOptionIsNamed) {
  for (const auto& [options, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--after", "ok:1,ok:x"}, "--after: item 2 `ok:x`"},
           {{"--begin", "soon"}, "--begin: 'soon' is not a time"},
           {{"--deadline", "2020-01-01T00:00"}, "--deadline: '2020-01-01T00:00' has passed"},
           {{"--begin", "+3h", "--deadline", "+2h"}, "--deadline: '+2h' is not after --begin"},
           {{"--begin", "22:00", "--deadline", "22:00"}, "--deadline: '22:00' is not after"},
           {{"--begin", ""}, "--begin: the value is empty"},
           {{"--deadline", ""}, "--deadline: the value is empty"},
           {{"--begin", "none"}, "--begin: 'none' is not a time"},
           {{"--begin", "2027-02-31T08:00"}, "--begin: '2027-02-31T08:00' names a day that"}}) {
    FakeWorld world;
    std::vector<std::string> args = {"submit"};
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), {"--", "x"});
    EXPECT_EQ(world.run(args), 2);
    EXPECT_NE(world.err().find(said), std::string::npos) << world.err();
    EXPECT_TRUE(world.requests().empty());
  }
}

agent::JobSummary waiting_job(const FakeWorld& world) {
  agent::JobSummary job;
  job.id = JobId(9);
  job.name = "train";
  job.user = "ann";
  job.state = "queued";
  job.gpus = 8;
  job.reason = "begins in 10h";
  job.wait.after = {{"ok:7", ""}};
  job.wait.begin_unix_ms = world.wall_unix_ms + 36'000'000;
  job.wait.deadline_unix_ms = world.wall_unix_ms + 72'000'000;
  job.wait.is_before_begin = true;
  return job;
}

TEST(Waits, JobsShowsTheBeginByTheLocalClock) {
  FakeWorld world;
  agent::JobList list;
  list.jobs = {waiting_job(world)};
  world.answers(answer_with(list));
  EXPECT_NE(world.output_of({"jobs", "-o", "id,reason"}).find("begins 22:00"), std::string::npos);
}

TEST(Waits, JsonHasTheTimesAndTheItems) {
  FakeWorld world;
  agent::JobList list;
  list.jobs = {waiting_job(world)};
  world.answers(answer_with(list));
  const std::string json = world.output_of({"jobs", "--json"});
  EXPECT_NE(json.find(R"("after":["ok:7"],"begin_unix_ms":)" +
                      std::to_string(world.wall_unix_ms + 36'000'000) + R"(,"deadline_unix_ms":)" +
                      std::to_string(world.wall_unix_ms + 72'000'000)),
            std::string::npos)
      << json;
}

TEST(Waits, ShowSaysAllOfThem) {
  FakeWorld world;
  agent::JobDetail detail;
  detail.summary = waiting_job(world);
  detail.summary.wait.after = {{"ok:7", ""}, {"any:8.3", "running"}};
  detail.spec.command.argv = {"train"};
  world.answers(answer_with(detail));
  const std::string text = world.output_of({"show", "9"});
  for (const char* line :
       {"after      ok:7, any:8.3 (running)\n", "begins     2026-11-28 22:00:00\n",
        "deadline   2026-11-29 08:00:00\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

TEST(Waits, TimesByAnotherClockAreShownAsTheyWereGiven) {
  FakeWorld world;
  agent::JobDetail detail;
  detail.summary = waiting_job(world);
  detail.summary.wait.begin_unix_ms -= 50;
  detail.summary.wait.deadline_unix_ms += 50;
  detail.spec.command.argv = {"train"};
  agent::JobList list;
  list.jobs = {detail.summary};
  world.answers_in_turn({answer_with(detail), answer_with(list)});
  const std::string shown = world.output_of({"show", "9"});
  EXPECT_NE(shown.find("begins     2026-11-28 22:00:00\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("deadline   2026-11-29 08:00:00\n"), std::string::npos) << shown;
  const std::string listed = world.output_of({"jobs", "-o", "id,reason"});
  EXPECT_NE(listed.find("begins 22:00"), std::string::npos) << listed;
}

TEST(Waits, WhySaysEachItemAndItsState) {
  FakeWorld world;
  agent::WhyInfo why;
  why.job = JobId(9);
  why.state = "queued";
  why.headline = "it waits until job 7 succeeded (running)";
  why.wait = waiting_job(world).wait;
  why.wait.after = {{"ok:7", "running"}};
  world.answers(answer_with(why));
  const std::string text = world.output_of({"why", "9"});
  EXPECT_NE(text.find("after    ok:7 (running)\nbegins   2026-11-28 22:00:00\n"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace muster::cli
