// Processors are given to one grant at a time, also after the agent started again.

#include "agent/edge/supervisor/grant_rooms.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/isolation/room_limits.h"

namespace muster::agent {
namespace {

class GrantRoomsTest : public testing::Test {
 protected:
  GrantRoomsTest() {
    char path[] = "/tmp/muster-rooms-XXXXXX";
    base_ = mkdtemp(path);
    host_.numa_nodes = {{"GPU-far", 1}};
    restart();
  }
  ~GrantRoomsTest() override { std::filesystem::remove_all(base_); }

  /// The cores 0 and 1 of node 0, 2 and 3 of node 1.
  void restart() {
    rooms_ = std::make_unique<GrantRooms>(
        host_, std::vector<Core>{{{0}, 0}, {{1}, 0}, {{2}, 1}, {{3}, 1}});
  }

  std::string directory_of(Token token) const { return base_ + "/" + token.text(); }

  /// The processors of a new grant; "" = it shares.
  std::string give(std::uint64_t index, std::uint32_t milli_cpus, const std::string& gpu = "") {
    Prepare grant;
    grant.token = {1, index};
    grant.member.cpus = milli_cpus;
    if (!gpu.empty()) {
      grant.member.gpus.push_back({gpu, 0});
    }
    std::filesystem::create_directory(directory_of(grant.token));
    EXPECT_TRUE(rooms_->write(grant, RankUser(), directory_of(grant.token)));
    return in_room(grant.token);
  }

  std::string in_room(Token token) const {
    const auto plan =
        decode_room_plan(read_file(directory_of(token) + "/" + kRoomFile).value_or(""));
    EXPECT_TRUE(plan.has_value());
    return plan.has_value() ? encode_cpu_list(limits_of(*plan).cpus) : "no plan";
  }

  std::string base_;
  RoomHost host_;
  std::unique_ptr<GrantRooms> rooms_;
};

TEST_F(GrantRoomsTest, TwoGrantsHaveNoProcessorInCommon) {
  EXPECT_EQ(give(1, 1000, "GPU-far"), "2");
  EXPECT_EQ(give(2, 1000, "GPU-far"), "3");
  EXPECT_EQ(give(3, 2000), "0-1");
  EXPECT_EQ(give(4, 1000), "") << "there is no processor left";
  rooms_->gone({1, 2});
  EXPECT_EQ(give(5, 1000), "3");
}

TEST_F(GrantRoomsTest, ThoseOfAnEarlierAgentStayTaken) {
  EXPECT_EQ(give(1, 2000), "0-1");
  restart();
  rooms_->found({1, 1}, directory_of({1, 1}));
  rooms_->found({1, 9}, directory_of({1, 9}));
  EXPECT_EQ(give(2, 2000), "2-3");
}

TEST_F(GrantRoomsTest, AGrantWithoutWholeProcessorsShares) {
  EXPECT_EQ(give(1, 0), "");
  EXPECT_EQ(give(2, 1500), "");
  EXPECT_EQ(give(3, 4000), "0-3") << "a sharing grant takes none";
}

TEST_F(GrantRoomsTest, WithoutATopologyAllShare) {
  rooms_ = std::make_unique<GrantRooms>(host_, std::vector<Core>());
  EXPECT_EQ(give(1, 1000), "");
}

}  // namespace
}  // namespace muster::agent
