// Output that was written and is not there: what people are told of it.

#include "cli/verbs/dropped_output.h"

#include <gtest/gtest.h>

#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

TEST(DroppedOutput, OutputThatIsNotThereIsTold) {
  FakeWorld world;
  agent::JobDetail detail = sample_detail();
  agent::MemberInfo& member = detail.attempts[0].members[0];
  member.ranks[0].lost_bytes = 11 << 20;
  world.answers(answer_with(detail));
  EXPECT_NE(world.output_of({"show", "17"})
                .find("\nrank 0 wrote 11 MiB more than the disk of host a took\n\nLOG"),
            std::string::npos)
      << world.out();
  member.ranks[0].surplus_bytes = 1;
  member.ranks.resize(20, member.ranks[0]);
  world.answers(answer_with(detail));
  const std::string many = world.output_of({"show", "17"});
  EXPECT_NE(many.find("rank 0 wrote 11 MiB more than the disk of host a took, and 1 byte beyond "
                      "the limit of a rank\n"),
            std::string::npos)
      << many;
  EXPECT_NE(many.find("\noutput of 12 more is missing\n"), std::string::npos) << many;
}

TEST(DroppedOutput, SizesOfMissingOutputAreRound) {
  EXPECT_EQ(about_size(0), "0 bytes");
  EXPECT_EQ(about_size(1), "1 byte");
  EXPECT_EQ(about_size(1023), "1023 bytes");
  EXPECT_EQ(about_size(1536), "1.5 KiB");
  EXPECT_EQ(about_size(std::uint64_t{11} << 20), "11 MiB");
  EXPECT_EQ(about_size(std::uint64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(about_size(UINT64_MAX), "16777215 TiB");
}

}  // namespace
}  // namespace muster::cli
