#include "scheduler/access/token_book.h"

#include <string>

#include <gtest/gtest.h>

#include "scheduler/access/directory.h"

namespace muster::scheduler {
namespace {

using std::chrono::hours;

AccessTokenId token_number(std::size_t number) {
  std::string bytes = std::to_string(number);
  bytes.insert(0, AccessTokenId::kSizeBytes - bytes.size(), '0');
  return AccessTokenId::from_bytes(bytes);
}

TokenRecord record_of(const std::string& user, Duration ends_at = hours(1)) {
  return {"hash", user, "ci", {true, false}, "", ends_at};
}

TEST(TokenBook, ATokenIsMadeOnceUnderItsNumber) {
  TokenBook book;
  ASSERT_TRUE(book.add(token_number(1), record_of("ann"), hours(0)));
  EXPECT_TRUE(book.add(token_number(1), record_of("ann", hours(9)), hours(0)));
  EXPECT_EQ(book.find(token_number(1))->ends_at, hours(1)) << "said again, it ends no later";
  EXPECT_EQ(book.add(token_number(1), record_of("eve"), hours(0)).error().code,
            ErrorCode::kConflict);
  EXPECT_EQ(book.find(token_number(1))->user, "ann");
  EXPECT_TRUE(book.end(token_number(1)));
  EXPECT_FALSE(book.end(token_number(1)));
}

TEST(TokenBook, AUserHasALimitOfOpenTokens) {
  TokenBook book;
  for (std::size_t i = 0; i < kTokensOfUserMax; ++i) {
    ASSERT_TRUE(book.add(token_number(i), record_of("ann"), hours(0)));
  }
  EXPECT_FALSE(book.add(token_number(100), record_of("ann"), hours(0)));
  EXPECT_TRUE(book.add(token_number(101), record_of("bob"), hours(0)));
  EXPECT_TRUE(book.add(token_number(102), record_of("ann", hours(3)), hours(2)))
      << "the others have ended";
}

TEST(TokenBook, EndedTokensGiveWayToNewOnes) {
  TokenBook book;
  for (std::size_t i = 0; i < kTokensMax; ++i) {
    const std::string user = "user" + std::to_string(i / kTokensOfUserMax);
    ASSERT_TRUE(book.add(token_number(i), record_of(user, hours(i == 7 ? 1 : 9)), hours(0)));
  }
  EXPECT_EQ(book.add(token_number(5'000), record_of("ann", hours(9)), hours(0)).error().code,
            ErrorCode::kConflict);
  EXPECT_TRUE(book.add(token_number(5'000), record_of("ann", hours(9)), hours(1)));
  EXPECT_EQ(book.all().size(), kTokensMax);
  EXPECT_EQ(book.find(token_number(7)), nullptr);
}

TEST(TokenBook, RemembersForADayThatATokenExpired) {
  TokenBook book;
  ASSERT_TRUE(book.add(token_number(1), record_of("ann"), hours(0)));
  book.forget_ended(hours(1) + kEndedTokenKept - Duration(1));
  EXPECT_TRUE(book.find(token_number(1))->has_ended(hours(1)));
  book.forget_ended(hours(1) + kEndedTokenKept);
  EXPECT_EQ(book.find(token_number(1)), nullptr);
}

TEST(TokenBook, TheDirectoryCountsItsChangesAndEndsTokensWithTheirUser) {
  Directory directory;
  directory.found({"root"}, LogIndex(1));
  ASSERT_TRUE(directory.change({{}, {UserChange{"ann"}}}, LogIndex(2)));
  const std::uint64_t before = directory.version();
  ASSERT_TRUE(directory.make_token(token_number(1), record_of("ann"), hours(0)));
  ASSERT_TRUE(directory.make_token(token_number(2), record_of("root"), hours(0)));
  EXPECT_EQ(directory.version(), before + 2);
  ASSERT_TRUE(directory.make_token(token_number(1), record_of("ann"), hours(0)));
  EXPECT_EQ(directory.version(), before + 2) << "said again";
  TokenRecord of_no_team = record_of("ann");
  of_no_team.team = "vision";
  EXPECT_EQ(directory.make_token(token_number(3), of_no_team, hours(0)).error().code,
            ErrorCode::kNotFound);
  ASSERT_TRUE(directory.change({{}, {UserChange{"ann", true}}}, LogIndex(2)));
  EXPECT_EQ(directory.tokens().find(token_number(1)), nullptr);
  EXPECT_NE(directory.tokens().find(token_number(2)), nullptr);
  const std::uint64_t after = directory.version();
  EXPECT_TRUE(directory.end_token(token_number(2)));
  EXPECT_FALSE(directory.end_token(token_number(2)));
  EXPECT_EQ(directory.version(), after + 1);
}

}  // namespace
}  // namespace muster::scheduler
