// muster edit: what it asks for, what it says of it, and when it may be said again.

#include <gtest/gtest.h>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

using agent::EditArgs;
using agent::ResponseStatus;
using scheduler::Tier;

constexpr std::uint64_t kHourMs = 3'600'000;

agent::Response edited() {
  return answer_with(agent::JobRef{JobId(7)});
}

EditArgs asked_in(const FakeWorld& world) {
  const auto asked = agent::decode_payload<EditArgs>(world.requests().back().arguments);
  EXPECT_TRUE(asked.has_value());
  return asked.value_or(EditArgs());
}

struct EditRow {
  std::vector<std::string> options;
  EditArgs asked;
  std::string said;
  std::string json;
};

const std::vector<EditRow>& edit_rows() {
  static const std::vector<EditRow> all = {
      {{"--queue", "research/nlp", "--tier", "batch", "--time-limit", "8h"},
       {JobId(7), 0, true, "research/nlp", Tier::kBatch, 8 * kHourMs},
       "job 7: queue research/nlp, tier batch, time limit 8h\n",
       R"({"job_id":7,"queue":"research/nlp","tier":"batch","time_limit_ms":28800000})"},
      {{"--priority=-5"}, {JobId(7), -5}, "job 7: priority -5\n", R"({"job_id":7,"priority":-5})"},
      {{"--priority", "0", "--tier", "inference"},
       {JobId(7), 0, false, "", Tier::kInference},
       "job 7: tier inference, priority 0\n",
       R"({"job_id":7,"tier":"inference","priority":0})"},
      {{"--time-limit", "+4h"},
       {JobId(7), 0, true, "", Tier::kNone, 4 * kHourMs, false, true},
       "job 7: time limit +4h\n",
       R"({"job_id":7,"time_limit_added_ms":14400000})"},
      {{"--time-limit", "none"},
       {JobId(7), 0, true, "", Tier::kNone, 0, true},
       "job 7: no time limit\n",
       R"({"job_id":7,"time_limit_ms":null})"},
      {{"--begin", "+2h", "--deadline", "none"},
       {JobId(7), 0, true, "", Tier::kNone, 0, false, false, 2 * kHourMs, 0},
       "job 7: begin +2h, no deadline\n",
       R"({"job_id":7,"begin_in_ms":7200000,"deadline_in_ms":null})"},
      {{"--begin", "none", "--deadline", "14:30"},
       {JobId(7), 0, true, "", Tier::kNone, 0, false, false, 0, 5 * kHourMs / 2},
       "job 7: no begin, deadline 14:30\n",
       R"({"job_id":7,"begin_in_ms":null,"deadline_in_ms":9000000})"},
      {{"--begin", "22:00", "--deadline", "11:00"},
       {JobId(7), 0, true, "", Tier::kNone, 0, false, false, 10 * kHourMs, 23 * kHourMs},
       "job 7: begin 22:00, deadline 11:00\n",
       R"({"job_id":7,"begin_in_ms":36000000,"deadline_in_ms":82800000})"},
      {{"--begin", "13:00", "--deadline", "12:30"},
       {JobId(7), 0, true, "", Tier::kNone, 0, false, false, kHourMs, 49 * kHourMs / 2},
       "job 7: begin 13:00, deadline 12:30\n",
       R"({"job_id":7,"begin_in_ms":3600000,"deadline_in_ms":88200000})"},
  };
  return all;
}

TEST(Edit, AsksForWhatIsGivenAndSaysIt) {
  for (const EditRow& row : edit_rows()) {
    SCOPED_TRACE(row.said);
    std::vector<std::string> args = {"edit", "7"};
    args.insert(args.end(), row.options.begin(), row.options.end());
    FakeWorld world;
    world.answers(edited());
    EXPECT_EQ(world.output_of(args), row.said);
    EXPECT_EQ(world.requests().back().verb, agent::Verb::kEdit);
    EXPECT_TRUE(asked_in(world) == row.asked);
    args.emplace_back("--json");
    FakeWorld json;
    json.answers(edited());
    EXPECT_EQ(json.output_of(args), row.json + "\n");
  }
}

TEST(Edit, OfATaskNamesIt) {
  FakeWorld world;
  world.answers(edited());
  EXPECT_EQ(world.output_of({"edit", "7.12", "--tier", "batch", "--json"}),
            "{\"job_id\":\"7.12\",\"tier\":\"batch\"}\n");
  EXPECT_EQ(asked_in(world).job, task_id(JobId(7), 12));
}

TEST(Edit, WrongWordsAskNobody) {
  const std::pair<std::vector<std::string>, std::string> wrong[] = {
      {{"edit", "7"},
       "give at least one of --queue, --tier, --priority, --time-limit, --begin and "
       "--deadline"},
      {{"edit", "x", "--tier", "batch"}, "'x' is not a job"},
      {{"edit", "7", "--tier", "gold"}, "'gold' is not a tier"},
      {{"edit", "7", "--queue", "a//b"}, "--queue: "},
      {{"edit", "7", "--priority", "3000000000"}, "does not fit into 32 bits"},
      {{"edit", "7", "--time-limit", "8"}, "'8' is not a duration"},
      {{"edit", "7", "--time-limit", "++8h"}, "is not a duration"},
      {{"edit", "7", "--time-limit", "0"}, "write none for no limit"},
      {{"edit", "7", "--time-limit", "+0s"}, "write none for no limit"},
      {{"edit", "7", "--begin", ""}, "--begin: the value is empty"},
      {{"edit", "7", "--tier", "batch", "--deadline", ""}, "+2h or none"},
      {{"edit", "7", "--begin", "never"}, "+2h or none"},
      {{"edit", "7", "--begin", "22:00", "--deadline", "22:00"},
       "--deadline: '22:00' is not after --begin: the job could never start\n"},
  };
  for (const auto& [args, said] : wrong) {
    FakeWorld world;
    EXPECT_EQ(world.run(args), 2) << said;
    EXPECT_NE(world.err().find(said), std::string::npos) << world.err();
    EXPECT_TRUE(world.requests().empty()) << said;
  }
}

TEST(Edit, ARefusalIsSaidOnce) {
  FakeWorld world;
  world.answers(refusal(ResponseStatus::kConflict, "job 7 is running: its queue cannot change"));
  EXPECT_EQ(world.run({"edit", "7", "--queue", "a"}), 7);
  EXPECT_EQ(world.err(), "muster: job 7 is running: its queue cannot change\n");
  EXPECT_EQ(world.requests().size(), 1U);
}

TEST(Edit, AnUnknownOutcomeSaysHowToRepeat) {
  FakeWorld world;
  world.answers_in_turn({silence(), silence()});
  EXPECT_EQ(world.run({"edit", "7", "--queue", "a/b", "--priority=-5", "--time-limit", "none"}),
            75);
  EXPECT_EQ(world.requests().size(), 2U) << "said again, for that changes nothing";
  EXPECT_NE(world.err().find("repeat with: muster edit 7 --queue=a/b --priority=-5 "
                             "--time-limit=none"),
            std::string::npos)
      << world.err();
}

TEST(Edit, AddedTimeIsNotAddedTwice) {
  FakeWorld world;
  world.answers_in_turn({silence(), edited()});
  EXPECT_EQ(world.run({"edit", "7", "--time-limit", "+4h"}), 75);
  EXPECT_EQ(world.requests().size(), 1U);
  EXPECT_NE(world.err().find("look before you repeat it"), std::string::npos) << world.err();
}

TEST(Edit, AddedTimeIsAskedForElsewhereWhileNoNodeHeardIt) {
  FakeWorld world;
  world.dead = {"ipc:///a.sock"};
  world.answers(edited());
  EXPECT_EQ(world.output_of({"edit", "7", "--time-limit", "+4h", "--node", "/a.sock,/b.sock"}),
            "job 7: time limit +4h\n");
  EXPECT_EQ(world.requests().size(), 1U);
}

}  // namespace
}  // namespace muster::cli
