// The holders of GPUs: whole devices and slots overlap as they should, and a GPU that is given back
// leaves no trace.

#include "scheduler/state/gpu_book.h"

#include <gtest/gtest.h>

#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

constexpr Token kFirst{1, 10};
constexpr Token kSecond{1, 11};

Member slot_of(std::uint64_t host, std::uint32_t slot) {
  Member member;
  member.host = host_id(host);
  member.gpus = {{uuid_of(host, 0), slot}};
  return member;
}

/// Host 1, which offers three GPUs.
HostRecord host_of_three(GpuBook& book) {
  HostRecord host;
  host.id = host_id(1);
  host.gpus = uuids_of(1, 3);
  book.offer(host.id, host.gpus);
  return host;
}

TEST(GpuBook, AWholeDeviceOverlapsEverySlotOfIt) {
  GpuBook book;
  book.take(kFirst, slot_of(1, 0));
  EXPECT_FALSE(book.is_free_at({uuid_of(1, 0), 0}));
  EXPECT_FALSE(book.is_free_at({uuid_of(1, 0), 3}));
  EXPECT_TRUE(book.is_free_at({uuid_of(1, 1), 0})) << "another device";
  book.check();
}

TEST(GpuBook, ASlotLeavesTheOthersFreeButNotTheDevice) {
  GpuBook book;
  book.take(kFirst, slot_of(1, 3));
  EXPECT_FALSE(book.is_free_at({uuid_of(1, 0), 0}));
  EXPECT_FALSE(book.is_free_at({uuid_of(1, 0), 3}));
  EXPECT_TRUE(book.is_free_at({uuid_of(1, 0), 4}));
}

TEST(GpuBook, WhatIsFreedLeavesNothingBehind) {
  GpuBook book;
  book.take(kFirst, slot_of(1, 1));
  book.take(kSecond, slot_of(1, 2));
  EXPECT_EQ(book.on(host_id(1)).tokens, (std::vector<Token>{kFirst, kSecond}));
  book.free(kFirst, slot_of(1, 1));
  EXPECT_TRUE(book.is_held(uuid_of(1, 0))) << "by the other slot";
  book.free(kSecond, slot_of(1, 2));
  EXPECT_EQ(book, GpuBook());
}

TEST(GpuBook, OfferedIsWhatIsHealthyAndHeldByNobody) {
  GpuBook book;
  HostRecord host = host_of_three(book);
  host.unhealthy_gpus = {uuid_of(1, 2)};
  book.take(kFirst, slot_of(1, 0));
  EXPECT_EQ(book.free_on(host), std::vector<std::string>{uuid_of(1, 1)});
}

TEST(GpuBook, AGpuIsKnownWhileItIsOfferedOrHeld) {
  GpuBook book;
  book.offer(host_id(1), uuids_of(1, 2));
  book.take(kFirst, slot_of(1, 0));
  book.offer(host_id(1), {uuid_of(1, 1)});
  EXPECT_TRUE(book.number_of(uuid_of(1, 0)).has_value()) << "it is held";
  EXPECT_TRUE(book.is_held(uuid_of(1, 0)));
  book.free(kFirst, slot_of(1, 0));
  EXPECT_FALSE(book.number_of(uuid_of(1, 0)).has_value());
  book.offer(host_id(2), {uuid_of(1, 1)});
  book.offer(host_id(1), {});
  EXPECT_TRUE(book.number_of(uuid_of(1, 1)).has_value()) << "another host offers it";
  book.check();
}

TEST(GpuBook, AMemberGetsOnlyWhatItsHostOffersAndNobodyHolds) {
  GpuBook book;
  HostRecord host = host_of_three(book);
  host.quarantined = {uuid_of(1, 2)};
  book.offer(host_id(2), uuids_of(2, 1));
  std::vector<GpuNumber> numbers;
  const auto adds = [&](const std::vector<GpuSlot>& gpus) {
    Member member;
    member.host = host.id;
    member.gpus = gpus;
    return book.add_if_free(host, member, {}, numbers);
  };
  EXPECT_TRUE(adds({{uuid_of(1, 1), 0}, {uuid_of(1, 0), 0}})) << "in any order";
  EXPECT_EQ(numbers.size(), 2U);
  EXPECT_FALSE(adds({{uuid_of(1, 2), 0}})) << "quarantined";
  EXPECT_FALSE(adds({{uuid_of(2, 0), 0}})) << "of another host";
  EXPECT_FALSE(adds({{"nowhere", 0}}));
  book.take(kFirst, slot_of(1, 0));
  EXPECT_FALSE(adds({{uuid_of(1, 0), 0}}));
}

}  // namespace
}  // namespace muster::scheduler
