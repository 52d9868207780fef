// The plan of a grant's room, as data.

#include "agent/isolation/room_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::agent {
namespace {

using Kind = RoomStep::Kind;

RoomHost host_with(std::initializer_list<Ability> abilities) {
  RoomHost host;
  for (const Ability ability : abilities) {
    host.abilities.add(ability);
  }
  host.group_root = "/cg/muster";
  host.data_directory = "/var/lib/muster";
  host.agent_socket = "/var/lib/muster/agent.sock";
  host.memory_mb = 1000;
  host.gpus = {{"GPU-a", {"/dev/nvidia0", {195, 0}}}, {"GPU-b", {"/dev/nvidia1", {195, 1}}}};
  host.shared = {{"/dev/nvidiactl", {195, 255}}};
  return host;
}

RoomRequest request() {
  RoomRequest asked;
  asked.token = "1.7";
  asked.gpus = {"GPU-b"};
  asked.memory_mb = 64;
  asked.directory = "/home/ann";
  return asked;
}

std::vector<std::string> lines_of(const RoomPlan& plan) {
  std::vector<std::string> lines;
  for (const RoomStep& step : plan.steps) {
    lines.push_back(text_of(step));
  }
  return lines;
}

const RoomStep* step_at(const RoomPlan& plan, Kind kind, const std::string& at) {
  const auto found = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const RoomStep& step) {
    return step.kind == kind && step.at == at;
  });
  return found == plan.steps.end() ? nullptr : &*found;
}

TEST(RoomPlan, HoldsRanksToTheirOwnGpus) {
  const RoomPlan plan = plan_of_room(request(), host_with({Ability::kDevices, Ability::kMounts}));
  EXPECT_EQ(lines_of(plan),
            (std::vector<std::string>{
                "make control group /cg/muster/1.7",
                "make control group /cg/muster/1.7/supervisor",
                "make control group /cg/muster/1.7/ranks",
                "put the supervisor into /cg/muster/1.7/supervisor",
                "of devices allow 1:3 1:5 1:7 1:8 1:9 5:0 5:2 136:* 195:1 195:255 in "
                "/cg/muster/1.7/ranks",
                "start ranks in /cg/muster/1.7/ranks",
                "end the grant above 64 MiB of memory",
                "end the grant above 4096 processes",
                "mount an empty room.dev of 64 KiB",
                "show /dev/null as room.dev/null",
                "show /dev/zero as room.dev/zero",
                "show /dev/full as room.dev/full",
                "show /dev/random as room.dev/random",
                "show /dev/urandom as room.dev/urandom",
                "show /dev/tty as room.dev/tty",
                "show /dev/nvidiactl as room.dev/nvidiactl",
                "show /dev/nvidia1 as room.dev/nvidia1",
                "mount terminals at room.dev/pts",
                "link room.dev/ptmx to pts/ptmx",
                "link room.dev/fd to /proc/self/fd",
                "link room.dev/stdin to /proc/self/fd/0",
                "link room.dev/stdout to /proc/self/fd/1",
                "link room.dev/stderr to /proc/self/fd/2",
                "put room.dev at /dev",
                "mount an empty /dev/shm of 64 MiB",
                "mount an empty /tmp of 64 MiB",
                "mount an empty /run/user of 64 KiB",
                "mount an empty /var/lib/muster of 64 KiB"}));
  EXPECT_EQ(plan.lacking, "memory, cpu, pids");
  EXPECT_EQ(plan.held,
            "memory 64 MiB, watched each 250 ms; processors shared; processes 4096, counted each "
            "250 ms; devices by control group");
}

TEST(RoomPlan, AGpuWithoutItsNodeIsARefusalAndOthersMayLack) {
  const RoomPlan plan = plan_of_room(request(), host_with({Ability::kDevices, Ability::kMounts}));
  EXPECT_FALSE(step_at(plan, Kind::kBind, "room.dev/nvidia1")->may_lack);
  EXPECT_TRUE(step_at(plan, Kind::kBind, "room.dev/nvidiactl")->may_lack);
  EXPECT_TRUE(step_at(plan, Kind::kBind, "room.dev/tty")->may_lack);
}

TEST(RoomPlan, ARealGpuThatIsGoneRefusesTheRoomAndASimulatedOneHasNoNode) {
  RoomRequest asked = request();
  asked.gpus = {"GPU-z"};
  RoomHost host = host_with({Ability::kMounts});
  EXPECT_EQ(step_at(plan_of_room(asked, host), Kind::kBind, "/dev/node-of-GPU-z"), nullptr);
  host.are_simulated = false;
  const RoomPlan plan = plan_of_room(asked, host);
  const RoomStep* step = step_at(plan, Kind::kBind, "/dev/node-of-GPU-z");
  ASSERT_NE(step, nullptr);
  EXPECT_FALSE(step->may_lack);
}

TEST(RoomPlan, AHostThatCanDoLessMakesALesserRoomAndSaysSo) {
  EXPECT_TRUE(
      step_at(plan_of_room(request(), host_with({})), Kind::kRanks, "/cg/muster/1.7/ranks"));
  RoomHost bare = host_with({});
  bare.group_root = "";
  const RoomPlan plan = plan_of_room(request(), bare);
  EXPECT_EQ(lines_of(plan), (std::vector<std::string>{"end the grant above 64 MiB of memory",
                                                      "end the grant above 4096 processes"}));
  EXPECT_EQ(plan.lacking, "memory, cpu, pids, devices, mounts");
  EXPECT_TRUE(plan.held.ends_with("; devices not held")) << plan.held;
}

TEST(RoomPlan, WithoutALimitOfMemoryTmpHasHalfOfTheHosts) {
  RoomRequest asked = request();
  asked.memory_mb = 0;
  const RoomPlan plan = plan_of_room(asked, host_with({Ability::kMounts}));
  EXPECT_EQ(step_at(plan, Kind::kTmpfs, "/tmp")->bytes, std::uint64_t{500} << 20);
}

TEST(RoomPlan, ADirectoryInTmpIsShownOnTopOfTheEmptyOne) {
  RoomRequest asked = request();
  asked.directory = "/tmp//work/./here/";
  const RoomPlan plan = plan_of_room(asked, host_with({Ability::kMounts}));
  const RoomStep* shown = step_at(plan, Kind::kShow, "/tmp");
  ASSERT_NE(shown, nullptr);
  EXPECT_EQ(shown->what, "work/here");
  EXPECT_GT(shown, step_at(plan, Kind::kTmpfs, "/tmp"));
  EXPECT_EQ(step_at(plan, Kind::kBind, "/var/lib/muster/agent.sock"), nullptr);
}

TEST(RoomPlan, NoOtherDirectoryIsShown) {
  RoomHost host = host_with({Ability::kMounts});
  host.data_directory = "/tmp/data";
  for (const char* directory :
       {"/tmp", "/tmp/", "/tmp/.", "/tmp/../home/ann", "/tmp/a/..", "/tmpfile", "/dev/shm/a",
        "/dev/shm", "/home/ann", "tmp/a", "", "/tmp/data", "/tmp/data/grants"}) {
    RoomRequest asked = request();
    asked.directory = directory;
    EXPECT_EQ(step_at(plan_of_room(asked, host), Kind::kShow, "/tmp"), nullptr) << directory;
  }
}

TEST(RoomPlan, ServicesOfAUserAreOutOfSightWhereTheAgentIsAnotherUser) {
  const RoomHost host = host_with({Ability::kMounts});
  EXPECT_TRUE(step_at(plan_of_room(request(), host), Kind::kTmpfs, "/run/user")->may_lack);
  RoomRequest own = request();
  own.are_agents_own = true;
  EXPECT_EQ(step_at(plan_of_room(own, host), Kind::kTmpfs, "/run/user"), nullptr);
}

TEST(RoomPlan, DataIsHiddenAlsoInAShownDirectory) {
  RoomHost host = host_with({Ability::kMounts});
  host.data_directory = "/tmp/work/data";
  host.agent_socket = "/tmp/work/data/agent.sock";
  RoomRequest asked = request();
  asked.are_agents_own = true;
  asked.directory = "/tmp/work";
  const RoomPlan plan = plan_of_room(asked, host);
  const RoomStep* hidden = step_at(plan, Kind::kTmpfs, "/tmp/work/data");
  const RoomStep* socket = step_at(plan, Kind::kBind, "/tmp/work/data/agent.sock");
  ASSERT_NE(hidden, nullptr);
  ASSERT_NE(socket, nullptr);
  EXPECT_GT(hidden, step_at(plan, Kind::kShow, "/tmp"));
  EXPECT_GT(socket, hidden);
  asked.directory = "/home/ann";
  EXPECT_EQ(step_at(plan_of_room(asked, host), Kind::kTmpfs, "/tmp/work/data"), nullptr)
      << "/tmp is empty as it is";
}

TEST(RoomPlan, ItsFileSaysTheSame) {
  const RoomPlan plan = plan_of_room(request(), host_with({Ability::kDevices, Ability::kMounts}));
  EXPECT_EQ(decode_room_plan(encode(plan)), plan);
  RoomPlan odd;
  odd.steps.push_back({Kind::kDevices, "/cg", "", 0, 0, false, {{1, 0}, {1, UINT32_MAX - 1}}});
  EXPECT_EQ(decode_room_plan(encode(odd)), odd);
}

TEST(RoomPlan, AFileOfAnotherVersionOrShapeIsRefused) {
  std::string bytes = encode(plan_of_room(request(), host_with({Ability::kMounts})));
  EXPECT_FALSE(decode_room_plan(bytes.substr(0, bytes.size() - 1)).has_value());
  EXPECT_FALSE(decode_room_plan("").has_value());
  bytes[1] = 3;  // The version, behind the head of the array.
  EXPECT_FALSE(decode_room_plan(bytes).has_value());
}

TEST(Abilities, AreLabelsOfAHost) {
  AbilitySet abilities;
  EXPECT_EQ(abilities.text(), "none of memory, cpu, pids, devices, mounts");
  abilities.add(Ability::kMounts).add(Ability::kDevices);
  EXPECT_EQ(abilities.labels(), (std::vector<std::string>{"can-devices", "can-mounts"}));
  EXPECT_EQ(abilities.text(), "devices, mounts");
  for (const Ability ability : kAbilities) {
    EXPECT_EQ(ability_named(text_of(ability)), ability);
  }
  EXPECT_EQ(ability_named("network"), std::nullopt);
}

}  // namespace
}  // namespace muster::agent
