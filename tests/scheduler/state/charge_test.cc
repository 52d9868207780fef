// The charge of a member is its largest part of what comes with the units of its host.

#include "scheduler/state/charge.h"

#include <gtest/gtest.h>

#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

/// Eight GPUs, each with 16 CPUs and 250000 MB.
HostRecord host_of_eight() {
  HostRecord host;
  host.gpu_type = "H100";
  host.gpus = uuids_of(1, 8);
  host.cpus = 128;
  host.memory_mb = 2'000'000;
  return host;
}

struct ChargeCase {
  const char* what;
  std::uint32_t gpus;
  std::uint32_t cpus;  ///< Thousandths.
  std::uint64_t memory_mb;
  std::uint64_t charge;
};

constexpr ChargeCase kChargeCases[] = {
    {"a GPU with its part of the host", 1, 16'000, 250'000, 1'000},
    {"GPUs with less than their part", 4, 1'000, 1, 4'000},
    {"CPUs of two GPUs", 1, 32'000, 0, 2'000},
    {"the CPUs of the whole host", 1, 128'000, 0, 8'000},
    {"memory of three GPUs", 2, 32'000, 750'000, 3'000},
    {"a little more memory than a GPU has is rounded up", 1, 0, 250'001, 1'001},
    {"a little more CPU is, too", 1, 16'001, 0, 1'001},
    {"CPUs alone", 0, 3'500, 0, 3'500},
    {"less memory than belongs to the CPUs", 0, 2'000, 31'250, 2'000},
    {"memory of four CPUs", 0, 1'000, 62'500, 4'000},
    {"a member without any amount", 0, 0, 0, 1},
};

TEST(Charge, IsTheLargestPartOfTheHost) {
  const HostRecord host = host_of_eight();
  for (const ChargeCase& each : kChargeCases) {
    Member member = member_of(1, 0, each.gpus);
    member.ranks = 1;
    member.cpus = each.cpus;
    member.memory_mb = each.memory_mb;
    EXPECT_EQ(charge_of(host, member), each.charge) << each.what;
  }
}

TEST(Charge, OfAHostWithoutAmountsIsItsGpus) {
  HostRecord host = host_of_eight();
  host.cpus = 0;
  host.memory_mb = 0;
  Member member = member_of(1, 0, 2);
  member.cpus = 5'000;
  member.memory_mb = 5'000;
  EXPECT_EQ(charge_of(host, member), 2'000U);
  host.gpus.clear();
  EXPECT_EQ(charge_of(host, member), 2'000U) << "it registered without the GPUs that are held";
}

TEST(Charge, TheLargestAmountsDoNotOverflow) {
  HostRecord host = host_of_eight();
  host.memory_mb = 1;
  Member member = member_of(1, 0, 1);
  member.memory_mb = kMemoryMbMax * kHostUnitsMax;
  EXPECT_GE(charge_of(host, member), 1'000'000U);
}

TEST(Charge, ThePoolIsTheFoldedTypeOrThatOfTheCpus) {
  HostRecord host = host_of_eight();
  host.gpu_type = "H100-SXM";
  EXPECT_EQ(pool_on(host, spec_of(1)), "h100-sxm");
  EXPECT_EQ(pool_on(host, spec_of(0)), kCpuPool);
}

TEST(Charge, AJobIsChargedAtLeastItsUnits) {
  EXPECT_EQ(least_charge_of(spec_of(16)), 16'000U);
  JobSpec spec = spec_of(0);
  spec.request.ranks = 3;
  EXPECT_EQ(least_charge_of(spec), 3'000U) << "a CPU each";
  spec.request.cpus = 250;
  EXPECT_EQ(least_charge_of(spec), 750U);
}

}  // namespace
}  // namespace muster::scheduler
