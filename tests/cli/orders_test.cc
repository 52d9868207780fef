// suspend, resume and requeue: what they ask, repeat and say. cancel is in views_test.

#include <gtest/gtest.h>

#include "tests/cli/fake_world.h"
#include "tests/cli/samples.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;
using agent::Verb;

agent::Response job_is(const std::string& state, std::uint64_t attempt = 1) {
  agent::JobDetail detail = sample_detail();
  detail.summary = sample_job(7, state);
  detail.summary.attempt = attempt;
  return answer_with(detail);
}

agent::Response done() {
  return answer_with(agent::JobRef{JobId(7)});
}

TEST(Orders, EachAsksForItsVerb) {
  for (const auto& [name, verb, said] : {std::tuple{"suspend", Verb::kSuspend, "job 7 suspended\n"},
                                         std::tuple{"resume", Verb::kResume, "job 7 resumed\n"}}) {
    FakeWorld world;
    world.answers(done());
    EXPECT_EQ(world.output_of({name, "7"}), said);
    ASSERT_EQ(world.requests().size(), 1U);
    EXPECT_EQ(world.requests()[0].verb, verb);
    EXPECT_EQ(world.requests()[0].user, "ann");
    EXPECT_EQ(agent::decode_payload<agent::JobRef>(world.requests()[0].arguments)->job, JobId(7));
  }
}

TEST(Orders, ARequeueNamesTheAttemptThatTheLeaderKnows) {
  FakeWorld world;
  world.answers_in_turn({job_is("running", 3), done()});
  EXPECT_EQ(world.output_of({"requeue", "7"}), "job 7 requeued\n");
  ASSERT_EQ(world.requests().size(), 2U);
  EXPECT_TRUE(world.requests()[0].consistent);
  const auto asked = agent::decode_payload<agent::RequeueArgs>(world.requests()[1].arguments);
  EXPECT_EQ(asked->job, JobId(7));
  EXPECT_EQ(asked->attempt, 3U);
}

TEST(Orders, ARequeueThatCannotAskFirstIsSurelyNotDone) {
  FakeWorld world;
  world.answers_in_turn({silence(), silence()});
  EXPECT_EQ(world.run({"requeue", "7"}), 5);
  FakeWorld other;
  other.answers(refusal(ResponseStatus::kNotFound, "there is no job 7"));
  EXPECT_EQ(other.run({"requeue", "7"}), 6);
}

TEST(Orders, AConflictIsSaidOnce) {
  FakeWorld world;
  world.answers(refusal(ResponseStatus::kConflict, "job 7 has completed: nothing to suspend"));
  EXPECT_EQ(world.run({"suspend", "7"}), 7);
  EXPECT_EQ(world.err(), "muster: job 7 has completed: nothing to suspend\n");
  EXPECT_EQ(world.requests().size(), 1U);
}

TEST(Orders, AnUnknownOutcomeSaysHowToRepeat) {
  FakeWorld world;
  world.answers_in_turn({silence(), silence()});
  EXPECT_EQ(world.run({"suspend", "7"}), 75);
  EXPECT_NE(world.err().find("repeat with: muster suspend 7"), std::string::npos);
}

/// The first try was lost on the way back, and the second meets what it did.
int after_a_lost_answer(const std::string& verb, const std::string& state,
                        std::uint64_t attempt = 1) {
  FakeWorld world;
  std::vector<Result<agent::Response>> answers = {
      silence(), refusal(ResponseStatus::kConflict, "job 7 has ended"), job_is(state, attempt)};
  if (verb == "requeue") {
    answers.insert(answers.begin(), job_is("running"));
  }
  world.answers_in_turn(answers);
  return world.run({verb, "7"});
}

TEST(Orders, AConflictWithItsOwnSuccessIsASuccess) {
  EXPECT_EQ(after_a_lost_answer("cancel", "cancelled"), 0);
  EXPECT_EQ(after_a_lost_answer("cancel", "completed"), 7);
  EXPECT_EQ(after_a_lost_answer("resume", "completed"), 0);
  EXPECT_EQ(after_a_lost_answer("resume", "cancelled"), 7);
  EXPECT_EQ(after_a_lost_answer("requeue", "completed", 2), 0);
  EXPECT_EQ(after_a_lost_answer("requeue", "completed", 1), 7);
}

TEST(Orders, JsonNamesWhatWasDone) {
  FakeWorld world;
  world.answers(done());
  EXPECT_EQ(world.output_of({"suspend", "7", "8", "--json"}),
            "{\"suspended\":[7,8],\"errors\":[]}\n");
}

}  // namespace
}  // namespace muster::cli
