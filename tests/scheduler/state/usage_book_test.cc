// Laws of the book of used GPU time.

#include "scheduler/state/usage_book.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

Duration sum_of(const UsageBook& book) {
  std::uint64_t sum = 0;
  for (const auto& [key, time] : book.rows()) {
    sum += time;
  }
  return std::chrono::milliseconds(sum);
}

TEST(UsageBook, ATimeOverMidnightsIsOfEachDay) {
  UsageBook book;
  book.charge("ann", "H100", 23h, 49h, 2);
  ASSERT_EQ(book.rows().size(), 3U);
  EXPECT_EQ(book.rows().at({0, "ann", "H100"}), gpu_ms(2h, 1));
  EXPECT_EQ(book.rows().at({1, "ann", "H100"}), gpu_ms(48h, 1));
  EXPECT_EQ(book.rows().at({2, "ann", "H100"}), gpu_ms(1h, 2));
  book.charge("ann", "H100", 49h, 49h, 2);
  EXPECT_EQ(sum_of(book), 52h) << "no time, no charge";
}

TEST(UsageBook, DaysThatAreTooOldAreForgotten) {
  UsageBook book;
  book.charge("ann", "H100", 0h, 1h, 1);
  book.charge("ann", "H100", 24h * (kUsageDays - 1), 24h * (kUsageDays - 1) + 1h, 1);
  EXPECT_EQ(book.rows().size(), 2U);
  book.charge("ann", "H100", 24h * kUsageDays, 24h * kUsageDays + 1h, 1);
  EXPECT_EQ(book.rows().size(), 2U);
  book.check();
  book.charge("bob", "H100", 0h, 24h * kUsageDays * 3 + 1h, 1);
  book.check();
  EXPECT_LE(sum_of(book), 24h * kUsageDays + 24h);
}

TEST(UsageBook, TooManyRowsOfTheDayBecomeRowsOfMany) {
  UsageBook book;
  book.charge("old", "H100", 1h, 2h, 1);
  for (std::size_t i = 0; i < kUsageRowsMax + 50; ++i) {
    book.charge("user" + std::to_string(i), "H100", 30h, 31h, 1);
    book.check();
  }
  EXPECT_EQ(book.rows().size(), kUsageRowsMax);
  EXPECT_EQ(sum_of(book), 1h * (kUsageRowsMax + 50)) << "the day before went, nothing else did";
  EXPECT_TRUE(book.rows().contains({1, "", "H100"}));
}

}  // namespace
}  // namespace muster::scheduler
