// Output of an array's tasks: all of them, a run of them, followed; and why a command never
// started.

#include <gtest/gtest.h>

#include "agent/api/jobs.h"
#include "agent/api/output.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

JobId task(std::uint32_t index) {
  return task_id(JobId(7), index);
}

/// Array 7 of the tasks 0 to 3; task N is one rank, which wrote "task N\n".
class Array {
 public:
  explicit Array(FakeWorld& world) {
    world.answers([this](const agent::Request& request) { return answer(request); });
    for (std::uint32_t index = 0; index < 4; ++index) {
      states[index] = "completed";
    }
  }

  std::map<std::uint32_t, std::string> states;  ///< Of the tasks that began.
  std::string state = "completed";
  std::map<std::uint32_t, std::string> texts;
  std::map<std::uint32_t, agent::RankInfo> ranks;
  /// Called at each look at the array from the third one on.
  std::function<void()> on_look = [] {};

 private:
  Result<agent::Response> answer(const agent::Request& request) {
    if (request.verb == agent::Verb::kJobs) {
      const auto query = *agent::decode_payload<agent::JobsQuery>(request.arguments);
      EXPECT_EQ(query.array, JobId(7));
      agent::JobList list;
      for (const auto& [index, name] : states) {
        agent::JobSummary job = sample_job(1, name);
        job.id = task(index);
        list.jobs.push_back(job);
      }
      return answer_with(list);
    }
    if (request.verb == agent::Verb::kShow) {
      const JobId job = agent::decode_payload<agent::JobRef>(request.arguments)->job;
      return answer_with(job == JobId(7) ? array() : detail_of(index_of_task(job)));
    }
    const auto query = *agent::decode_payload<agent::OutputQuery>(request.arguments);
    const auto index = static_cast<std::uint32_t>(query.token.index - 100);
    const std::string text =
        texts.contains(index) ? texts[index] : "task " + std::to_string(index) + "\n";
    agent::OutputChunk chunk;
    chunk.size = text.size();
    chunk.begin = std::min<std::uint64_t>(query.offset, text.size());
    chunk.bytes = text.substr(chunk.begin);
    chunk.ended = states[index] != "running";
    return answer_with(chunk);
  }

  agent::JobDetail array() {
    if (++looks_ > 2) {
      on_look();
    }
    agent::JobDetail detail;
    detail.summary = sample_job(7, state);
    detail.summary.attempt = 0;
    detail.summary.tasks = 4;
    detail.summary.reason = "2 of 4 tasks ended";
    detail.spec.array = scheduler::ArrayRange{0, 3, 0};
    return detail;
  }

  agent::JobDetail detail_of(std::uint32_t index) {
    agent::JobDetail detail = sample_detail();
    detail.summary.id = task(index);
    detail.summary.state = states[index];
    detail.attempts[0].token = Token{0, 100 + index};
    detail.attempts[0].members.resize(1);
    if (ranks.contains(index)) {
      detail.attempts[0].members[0].ranks = {ranks[index]};
    }
    return detail;
  }

  int looks_ = 0;
};

TEST(ArrayLogs, AllTasksBehindTheirNumbers) {
  FakeWorld world;
  Array array(world);
  EXPECT_EQ(world.output_of({"logs", "7"}),
            "[7.0] task 0\n[7.1] task 1\n[7.2] task 2\n[7.3] task 3\n");
}

TEST(ArrayLogs, ARunOfTasks) {
  FakeWorld world;
  Array array(world);
  EXPECT_EQ(world.output_of({"logs", "7.1-2"}), "[7.1] task 1\n[7.2] task 2\n");
  FakeWorld one;
  Array same(one);
  EXPECT_EQ(one.output_of({"logs", "7.1"}), "task 1\n") << "one task is a job like any other";
}

TEST(ArrayLogs, OfSeveralRanksEachLineNamesBoth) {
  FakeWorld world;
  Array array(world);
  EXPECT_EQ(world.output_of({"logs", "7.1-2", "-r", "all"}), "[7.1:0] task 1\n[7.2:0] task 2\n");
}

TEST(ArrayLogs, JsonNamesTheTask) {
  FakeWorld world;
  Array array(world);
  const std::string out = world.output_of({"logs", "7", "--json"});
  EXPECT_NE(out.find("{\"job_id\":\"7.2\",\"attempt\":1,\"rank\":0,"), std::string::npos) << out;
  EXPECT_NE(out.find("\"text\":\"task 2\\n\""), std::string::npos) << out;
}

TEST(ArrayLogs, WhenNoneHasBegunItIsSaid) {
  FakeWorld world;
  Array array(world);
  array.states.clear();
  array.state = "queued";
  EXPECT_EQ(world.run({"logs", "7"}), 6);
  EXPECT_EQ(world.err(),
            "muster: none of the tasks 7.0-3 that are kept has started (2 of 4 tasks ended): wait "
            "for them with -f\n");
}

TEST(ArrayLogs, FollowGoesOnUntilTheLastTaskEnded) {
  FakeWorld world;
  Array array(world);
  array.state = "running";
  array.states = {{0, "completed"}, {1, "running"}};
  array.on_look = [&array] {
    array.states = {{0, "completed"}, {1, "completed"}, {2, "completed"}, {3, "completed"}};
    array.state = "completed";
  };
  EXPECT_EQ(world.output_of({"logs", "7", "-f"}),
            "[7.0] task 0\n[7.1] task 1\n[7.2] task 2\n[7.3] task 3\n");
}

TEST(ArrayLogs, FollowOfARunEndsWithIt) {
  FakeWorld world;
  Array array(world);
  array.state = "running";
  array.states[3] = "running";
  EXPECT_EQ(world.output_of({"logs", "7.0-2", "-f"}), "[7.0] task 0\n[7.1] task 1\n[7.2] task 2\n");
}

TEST(ArrayLogs, MoreThanOneCommandPrintsIsNamed) {
  FakeWorld world;
  Array array(world);
  for (std::uint32_t index = 0; index < 1002; ++index) {
    array.states[index] = "completed";
    array.texts[index] = "\n";
  }
  EXPECT_EQ(world.run({"logs", "7.0-1001"}), 0);
  EXPECT_EQ(world.out().find("[7.1000]"), std::string::npos);
  EXPECT_EQ(world.err(),
            "muster: 2 more tasks have begun: `muster logs 7.1000-1001` goes on with them\n");
}

TEST(ArrayLogs, ACommandThatNeverStartedIsAFailureWithItsReason) {
  FakeWorld world;
  Array array(world);
  array.texts[1] = "";
  array.states[1] = "failed";
  array.ranks[1] = {0, "not started (127)", "./x: No such file or directory"};
  EXPECT_EQ(world.run({"logs", "7"}), 1);
  EXPECT_EQ(world.out(), "[7.0] task 0\n[7.2] task 2\n[7.3] task 3\n");
  EXPECT_EQ(world.err(),
            "muster: job 7.1, rank 0 on host a: not started (127): ./x: No such file "
            "or directory\n");
}

TEST(ArrayLogs, OfAGangTheRankThatFailedToStartIsNamedForThoseThatNeverRan) {
  for (const bool follows : {false, true}) {
    FakeWorld world;
    world.answers([](const agent::Request& request) -> Result<agent::Response> {
      if (request.verb == agent::Verb::kShow) {
        agent::JobDetail detail = sample_detail();
        detail.summary.state = "failed";
        detail.attempts[0].members[0].ranks = {{0, "never ran", ""}};
        detail.attempts[0].members[1].ranks = {{1, "not started (126)", "./x: not executable"}};
        return answer_with(detail);
      }
      agent::OutputChunk nothing;
      nothing.ended = true;
      return answer_with(nothing);
    });
    EXPECT_EQ(world.run(follows ? std::vector<std::string>{"logs", "17", "-f"}
                                : std::vector<std::string>{"logs", "17"}),
              1);
    EXPECT_EQ(world.out(), "");
    EXPECT_EQ(world.err(),
              "muster: job 17, rank 0 never ran: rank 1 on host b was not started "
              "(126): ./x: not executable\n");
  }
}

}  // namespace
}  // namespace muster::cli
