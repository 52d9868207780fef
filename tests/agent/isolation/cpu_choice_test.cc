#include "agent/isolation/cpu_choice.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

namespace muster::agent {
namespace {

/// Nodes of so many cores of two threads. As on most servers, thread 1 of core c is CPU c + cores.
std::vector<Core> machine(std::uint32_t nodes, std::uint32_t cores_a_node,
                          std::uint32_t threads = 2) {
  std::vector<Core> cores;
  const std::uint32_t all = nodes * cores_a_node;
  for (std::uint32_t core = 0; core < all; ++core) {
    Core one{{}, core / cores_a_node};
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      one.cpus.push_back(core + thread * all);
    }
    cores.push_back(one);
  }
  return cores;
}

std::string chosen(const CpuQuestion& question) {
  const CpuAnswer answer = choose_cpus(question);
  EXPECT_EQ(answer.is_shared(), !answer.why_shared.empty());
  return answer.is_shared() ? answer.why_shared : encode_cpu_list(answer.cpus);
}

TEST(CpuChoice, NearestToTheGpus) {
  const std::vector<Core> two_nodes = machine(2, 4);
  struct Row {
    std::vector<std::uint32_t> gpu_nodes;
    CpuList taken;
    std::uint64_t milli;
    std::string answer;
  };
  const Row rows[] = {
      {{0}, {}, 4000, "0-1,8-9"},
      {{1}, {}, 4000, "4-5,12-13"},
      {{1}, {4}, 4000, "5-6,13-14"},
      {{1}, {12}, 4000, "5-6,13-14"},
      {{1, 1, 1, 1}, {}, 8000, "4-7,12-15"},
      {{1}, {}, 10000, "0,4-8,12-15"},
      {{0, 1}, {}, 8000, "0-1,4-5,8-9,12-13"},
      {{0, 1, 1, 1}, {}, 8000, "0,4-6,8,12-14"},
      {{}, {}, 4000, "0-1,8-9"},
      {{}, {0}, 8000, "4-7,12-15"},
      {{}, {0}, 4000, "1-2,9-10"},
      {{}, {0, 1, 4}, 4000, "2-3,10-11"},
      {{7}, {}, 2000, "0,8"},
      {{0}, {}, 16000, "0-15"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(chosen({two_nodes, row.gpu_nodes, row.taken, row.milli}), row.answer)
        << row.milli << " with " << encode_cpu_list(row.taken) << " taken";
  }
}

TEST(CpuChoice, SharesIfThereIsNoExclusiveSet) {
  const std::vector<Core> cores = machine(2, 4);
  EXPECT_EQ(chosen({cores, {}, {}, 0}), "it does not want whole CPUs");
  EXPECT_EQ(chosen({cores, {}, {}, 2500}), "it does not want whole CPUs");
  EXPECT_EQ(chosen({cores, {}, {}, 3000}), "there are no whole free cores that make 3 CPUs");
  EXPECT_EQ(chosen({cores, {}, {}, 17000}), "there are no whole free cores that make 17 CPUs");
  EXPECT_EQ(chosen({cores, {}, {0, 1, 2, 3, 12, 13, 14, 15}, 2000}),
            "there are no whole free cores that make 2 CPUs");
  EXPECT_EQ(chosen({{}, {}, {}, 1000}), "the cores of this machine could not be read");
  EXPECT_EQ(chosen({{{{0, 1}, 0}, {{1, 2}, 0}}, {}, {}, 1000}),
            "the cores of this machine could not be read");
  EXPECT_EQ(chosen({{{{}, 0}}, {}, {}, 1000}), "the cores of this machine could not be read");
  EXPECT_EQ(chosen({{{{8192}, 0}}, {}, {}, 1000}), "the cores of this machine could not be read");
}

TEST(CpuChoice, CoresWithoutAndWithASecondThread) {
  EXPECT_EQ(chosen({machine(2, 4, 1), {1}, {}, 3000}), "4-6");
  const std::vector<Core> hybrid = {{{0, 1}, 0}, {{2, 3}, 0}, {{4}, 0}, {{5}, 0}};
  EXPECT_EQ(chosen({hybrid, {}, {}, 3000}), "0-1,4");
  EXPECT_EQ(chosen({hybrid, {}, {}, 1000}), "4");
}

/// Grants that come and go on a drawn machine.
TEST(CpuChoice, NoCoreHasTwoGrantsAndEachHasExactlyItsCpus) {
  EXPECT_TRUE(rc::check([] {
    const auto threads = static_cast<std::uint32_t>(*rc::gen::inRange(1, 5));
    const auto nodes = static_cast<std::uint32_t>(*rc::gen::inRange(1, 5));
    CpuQuestion question;
    question.cores = machine(nodes, static_cast<std::uint32_t>(*rc::gen::inRange(1, 9)), threads);
    std::map<int, CpuList> grants;
    const int steps = *rc::gen::inRange(1, 40);
    for (int i = 0; i < steps; ++i) {
      if (!grants.empty() && *rc::gen::inRange(0, 3) == 0) {
        grants.erase(grants.begin());
        continue;
      }
      question.taken = {0};  // Kept for the agent: one thread of a core.
      for (const auto& [number, cpus] : grants) {
        question.taken.insert(cpus.begin(), cpus.end());
      }
      question.gpu_nodes = *rc::gen::container<std::vector<std::uint32_t>>(
          rc::gen::inRange<std::uint32_t>(0, nodes + 1));
      question.milli_cpus = static_cast<std::uint64_t>(*rc::gen::inRange(0, 40)) * 500;
      const CpuAnswer answer = choose_cpus(question);
      RC_ASSERT(choose_cpus(question).cpus == answer.cpus);
      if (answer.is_shared()) {
        continue;
      }
      RC_ASSERT(answer.cpus.size() * 1000 == question.milli_cpus);
      for (const Core& core : question.cores) {
        const auto mine = static_cast<std::size_t>(
            std::count_if(core.cpus.begin(), core.cpus.end(),
                          [&](std::uint32_t cpu) { return answer.cpus.contains(cpu); }));
        RC_ASSERT(mine == 0 || mine == core.cpus.size());
      }
      RC_ASSERT(std::none_of(answer.cpus.begin(), answer.cpus.end(),
                             [&](std::uint32_t cpu) { return question.taken.contains(cpu); }));
      grants[i] = answer.cpus;
    }
  }));
}

TEST(CpuChoice, TheOrderInWhichCoresAreListedDoesNotMatter) {
  EXPECT_TRUE(rc::check([] {
    CpuQuestion question{machine(3, 5), {1, 1, 2}, {2, 7, 21}, 0};
    question.milli_cpus = static_cast<std::uint64_t>(*rc::gen::inRange(1, 15)) * 2000;
    const CpuAnswer answer = choose_cpus(question);
    for (std::size_t i = question.cores.size(); i > 1; --i) {
      std::swap(question.cores[i - 1], question.cores[*rc::gen::inRange<std::size_t>(0, i)]);
    }
    RC_ASSERT(choose_cpus(question).cpus == answer.cpus);
  }));
}

TEST(CpuChoice, AFreeNodeOfTheGpusIsTakenFirst) {
  EXPECT_TRUE(rc::check([] {
    const auto node = static_cast<std::uint32_t>(*rc::gen::inRange(0, 4));
    const auto cores = static_cast<std::uint64_t>(*rc::gen::inRange(1, 9));
    const CpuAnswer answer = choose_cpus({machine(4, 8), {node}, {}, cores * 2000});
    for (const std::uint32_t cpu : answer.cpus) {
      RC_ASSERT(cpu % 32 / 8 == node);
    }
    RC_ASSERT(answer.cpus.size() == cores * 2);
  }));
}

}  // namespace
}  // namespace muster::agent
