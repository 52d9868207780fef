#include "agent/isolation/cpu_list.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace muster::agent {
namespace {

TEST(CpuListText, AsTheKernelWritesIt) {
  EXPECT_EQ(encode_cpu_list({}), "");
  EXPECT_EQ(encode_cpu_list({5}), "5");
  EXPECT_EQ(encode_cpu_list({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(encode_cpu_list({0, 2, 4, 5}), "0,2,4-5");
  EXPECT_EQ(parse_cpu_list("0-3,8\n"), (CpuList{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list(""), CpuList{});
  EXPECT_EQ(parse_cpu_list("\n"), CpuList{});
  EXPECT_EQ(parse_cpu_list("0-8191").value().size(), kCpusMax);
}

TEST(CpuListText, OthersAreRefused) {
  for (const std::string text :
       {"a", "-1", "1-", "3-1", "1,", ",1", "1,,2", "1 2", "1-2-3", "8192", "0-8192", "99999999999",
        "1\n2", "2,1", "1,1", "0-3,2", " 1", "+1"}) {
    EXPECT_FALSE(parse_cpu_list(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_cpu_list(std::string(kCpuListBytesMax + 1, '1')).has_value());
}

TEST(CpuListText, ComesBackAsItWas) {
  EXPECT_TRUE(rc::check([] {
    CpuList cpus;
    const int size = *rc::gen::inRange(0, 60);
    for (int i = 0; i < size; ++i) {
      cpus.insert(static_cast<std::uint32_t>(*rc::gen::inRange(0, 100)));
    }
    RC_ASSERT(parse_cpu_list(encode_cpu_list(cpus)) == cpus);
  }));
}

TEST(CpuListText, TheLongestOneFits) {
  CpuList cpus;
  for (std::uint32_t cpu = 0; cpu < kCpusMax; cpu += 2) {
    cpus.insert(cpu);
  }
  EXPECT_EQ(parse_cpu_list(encode_cpu_list(cpus)), cpus);
}

}  // namespace
}  // namespace muster::agent
