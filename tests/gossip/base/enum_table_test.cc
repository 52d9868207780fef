// Goal: a table that lacks a row, has one twice or has one too many does not pass its check.
// Method: small tables of a small enumeration with a gap; all of it is decided where it compiles.

#include "gossip/base/enum_table.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

enum class Letter : std::uint8_t { kA = 0, kB = 7, kC = 255 };
struct Row {
  Letter letter{};
  int number = 0;
};

constexpr Row kWhole[] = {{Letter::kC, 3}, {Letter::kA, 1}, {Letter::kB, 2}};
constexpr Row kLacksOne[] = {{Letter::kA, 1}, {Letter::kB, 2}};
constexpr Row kTwice[] = {{Letter::kA, 1}, {Letter::kB, 2}, {Letter::kB, 3}, {Letter::kC, 3}};
constexpr Row kOfNobody[] = {
    {Letter::kA, 1}, {Letter::kB, 2}, {Letter::kC, 3}, {static_cast<Letter>(8), 4}};

static_assert(is_enumerator<Letter::kB>());
static_assert(!is_enumerator<static_cast<Letter>(8)>());

static_assert(has_row_for_each(kWhole, &Row::letter));
static_assert(!has_row_for_each(kLacksOne, &Row::letter));
static_assert(!has_row_for_each(kTwice, &Row::letter));
static_assert(!has_row_for_each(kOfNobody, &Row::letter));

constexpr bool is_not_last(Letter letter) {
  return letter == Letter::kA || letter == Letter::kB;
}
static_assert(has_row_for_those(kLacksOne, &Row::letter, is_not_last));
static_assert(!has_row_for_those(kWhole, &Row::letter, is_not_last));
static_assert(!has_row_for_those(kTwice, &Row::letter, is_not_last));

TEST(EnumTable, FindsTheRowOfAValue) {
  ASSERT_NE(find_row(kWhole, &Row::letter, Letter::kB), nullptr);
  EXPECT_EQ(find_row(kWhole, &Row::letter, Letter::kB)->number, 2);
  EXPECT_EQ(find_row(kLacksOne, &Row::letter, Letter::kC), nullptr);
  EXPECT_TRUE(has_row_with(kWhole, &Row::letter, Letter::kC, &Row::number, 3));
  EXPECT_FALSE(has_row_with(kWhole, &Row::letter, Letter::kC, &Row::number, 2));
  EXPECT_FALSE(has_row_with(kLacksOne, &Row::letter, Letter::kC, &Row::number, 3));
}

}  // namespace
}  // namespace muster
