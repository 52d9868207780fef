// `muster gpus`: the list, the readings of one host, and the orders of operators.

#include "agent/api/gpus.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;
using agent::Verb;

agent::ListedGpu gpu_of(char host, std::uint64_t index, const std::string& uuid) {
  agent::ListedGpu gpu;
  gpu.host = host_id(host);
  gpu.host_name = std::string(1, host);
  gpu.index = index;
  gpu.uuid = uuid;
  gpu.gpu_type = "H100";
  gpu.state = "healthy";
  return gpu;
}

agent::GpuList two_gpus() {
  agent::GpuList list;
  list.gpus = {gpu_of('b', 0, "GPU-5d0a1f3e"), gpu_of('a', 0, "GPU-11112222")};
  list.gpus[0].state = "masked";
  list.gpus[0].why = "fan 3";
  list.gpus[0].by = "ann@a";
  list.gpus[0].since_ms = 300'000;
  list.gpus[1].job = JobId(7);
  list.gpus[1].user = "ben";
  return list;
}

agent::GpuBoard board() {
  agent::GpuBoard all;
  all.host = host_id('a');
  all.is_read = true;
  agent::GpuOnBoard gpu;
  gpu.uuid = "GPU-11112222";
  gpu.health = "suspect";
  gpu.why = "throttled";
  gpu.since_ms = 60'000;
  gpu.use_percent = 97;
  gpu.memory_used_bytes = (std::int64_t{3} << 30) + 5;
  gpu.memory_bytes = std::int64_t{80} << 30;
  gpu.celsius = 61;
  gpu.milliwatts = 690'500;
  gpu.throttle = {"power_cap", "hw_thermal"};
  gpu.processes = {{11, 1}, {12, 1}, {13, 1}, {14, 1}, {15, 1}};
  gpu.processes_left_out = 2;
  all.gpus = {gpu};
  return all;
}

TEST(Gpus, AreListedByHostWithStateJobAndReason) {
  FakeWorld world;
  world.answers(answer_with(two_gpus()));
  EXPECT_EQ(world.output_of({"gpus"}),
            "HOST  GPU  UUID          TYPE  STATE    JOB  USER  SINCE  WHY\n"
            "a       0  GPU-11112222  H100  healthy    7  ben       -\n"
            "b       0  GPU-5d0a1f3e  H100  masked     -           5m  fan 3 (ann@a)\n");
  ASSERT_EQ(world.requests().size(), 1U);
  EXPECT_EQ(world.requests()[0].verb, Verb::kGpus);
}

TEST(Gpus, AreReadPageByPage) {
  FakeWorld world;
  agent::GpuList first = two_gpus();
  first.next = host_id('b');
  agent::GpuList second;
  second.gpus = {gpu_of('c', 0, "GPU-33334444")};
  world.answers_in_turn({answer_with(first), answer_with(second)});
  const std::string text = world.output_of({"gpus", "--job", "7", "--no-header"});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  const auto asked = agent::decode_payload<agent::GpusQuery>(world.requests()[1].arguments);
  EXPECT_EQ(asked->job, JobId(7));
  EXPECT_EQ(asked->after, host_id('b'));
}

TEST(Gpus, OneHostIsAskedForItsOwnReadings) {
  FakeWorld world;
  world.world().terminal.screen = {0, false};
  agent::GpuList list = two_gpus();
  list.gpus.erase(list.gpus.begin());
  world.answers_in_turn({answer_with(sample_hosts()), answer_with(list), answer_with(board())});
  EXPECT_EQ(world.output_of({"gpus", "--host", "a", "--no-header"}),
            "  0  GPU-11112222  suspect    7  ben      1m  97%  3G/80G   61C   690W  "
            "power_cap,hw_thermal  11,12,13,14 +3  throttled\n");
  ASSERT_EQ(world.requests().size(), 3U);
  EXPECT_EQ(world.requests()[2].verb, Verb::kGpuBoard);
  EXPECT_EQ(world.requests()[2].node, "a") << "passed on to that host";
  EXPECT_EQ(world.requests()[1].node, "");
}

TEST(Gpus, TheListStandsWhereTheHostDoesNotAnswer) {
  FakeWorld world;
  world.answers_in_turn({answer_with(sample_hosts()), answer_with(two_gpus()),
                         refusal(ResponseStatus::kNoQuorum, "host a is not reachable")});
  EXPECT_NE(world.output_of({"gpus", "--host", "a"}).find("GPU-11112222"), std::string::npos);
  EXPECT_EQ(world.err(), "muster: no readings of host a: host a is not reachable\n");
}

TEST(Gpus, JsonHasTheSameKeysWithAndWithoutReadings) {
  FakeWorld world;
  world.answers(answer_with(two_gpus()));
  const std::string plain = world.output_of({"gpus", "--json"});
  EXPECT_NE(plain.find(R"({"host":"a","host_id":"61616161)"), std::string::npos) << plain;
  EXPECT_NE(plain.find(R"("state":"masked","job_id":null,"user":null,"token":null,)"
                       R"("since_ms":300000,"why":"fan 3","by":"ann@a")"),
            std::string::npos)
      << plain;
  EXPECT_NE(plain.find(R"("use_percent":null)"), std::string::npos) << plain;
  FakeWorld of_host;
  of_host.answers_in_turn(
      {answer_with(sample_hosts()), answer_with(two_gpus()), answer_with(board())});
  const std::string read = of_host.output_of({"gpus", "--host", "a", "--json"});
  EXPECT_NE(read.find(R"("use_percent":97)"), std::string::npos) << read;
  EXPECT_NE(read.find(R"({"pid":11,"used_bytes":1})"), std::string::npos) << read;
}

TEST(GpuOrders, TheFirstCharactersNameTheGpu) {
  for (const auto& [word, verb] :
       {std::pair{"mask", Verb::kMaskGpu}, std::pair{"unmask", Verb::kUnmaskGpu}}) {
    FakeWorld world;
    agent::GpuList one;
    one.gpus = {gpu_of('b', 0, "GPU-5d0a1f3e-aaaa")};
    world.answers_in_turn({answer_with(one), agent::Response()});
    EXPECT_EQ(world.output_of({"gpus", word, "GPU-5d0a", "--why", "fan 3"}),
              "GPU-5d0a1f3e-aaaa of host b " + std::string(word) + "ed\n");
    ASSERT_EQ(world.requests().size(), 2U);
    EXPECT_EQ(agent::decode_payload<agent::GpusQuery>(world.requests()[0].arguments)->uuid,
              "GPU-5d0a");
    EXPECT_EQ(world.requests()[1].verb, verb);
    const auto said = agent::decode_payload<agent::GpuOrderArgs>(world.requests()[1].arguments);
    EXPECT_EQ(*said, (agent::GpuOrderArgs{host_id('b'), "GPU-5d0a1f3e-aaaa", "fan 3"}));
  }
}

TEST(GpuOrders, AMaskOfAGpuInUseSaysThatItsJobGoesOn) {
  FakeWorld world;
  agent::GpuList one;
  one.gpus = {two_gpus().gpus[1]};
  world.answers_in_turn({answer_with(one), agent::Response()});
  world.output_of({"gpus", "mask", "GPU-11112222", "--why", "fan"});
  EXPECT_NE(world.err().find("job 7 goes on there"), std::string::npos) << world.err();
}

TEST(GpuOrders, WhatDoesNotNameOneGpuIsRefused) {
  FakeWorld world;
  EXPECT_EQ(world.run({"gpus", "mask", "GPU-5d0", "--why", "fan"}), 2);
  EXPECT_EQ(world.run({"gpus", "mask", "GPU-5d0a1f3e"}), 2);
  EXPECT_TRUE(world.requests().empty());
  world.answers(answer_with(two_gpus()));
  EXPECT_EQ(world.run({"gpus", "mask", "GPU-5d0a", "--why", "fan"}), 7);
  EXPECT_NE(world.err().find("means 2 GPUs"), std::string::npos) << world.err();
  world.answers(answer_with(agent::GpuList()));
  EXPECT_EQ(world.run({"gpus", "unmask", "GPU-5d0a", "--why", "fan"}), 6);
}

TEST(GpuOrders, AnUnknownOutcomeSaysHowToRepeat) {
  FakeWorld world;
  agent::GpuList one;
  one.gpus = {gpu_of('b', 0, "GPU-5d0a1f3e")};
  world.answers_in_turn({answer_with(one), silence(), silence()});
  EXPECT_EQ(world.run({"gpus", "mask", "GPU-5d0a", "--why", "fan 3"}), 75);
  std::string told = world.err();
  std::replace(told.begin(), told.end(), '\n', ' ');
  EXPECT_NE(told.find("muster gpus mask GPU-5d0a1f3e --host b --why 'fan 3'"), std::string::npos)
      << told;
}

}  // namespace
}  // namespace muster::cli
