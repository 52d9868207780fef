// Goal: pages of the audit have each line once, filters hold, and users see their own lines alone.

#include "agent/front/audit_model.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/api/payload.h"

namespace muster::agent {
namespace {

using scheduler::AuditBook;
using scheduler::AuditLine;

constexpr std::int64_t kNow = 10'000'000;

std::string no_name(HostId) {
  return "n1";
}

/// Line n: user ann if n is even, else bob; verb cancel if n is a multiple of 3, else submit; made
/// n seconds after 1970.
AuditBook book_of(std::size_t lines, std::size_t object_bytes = 5) {
  AuditBook book;
  for (std::size_t n = 1; n <= lines; ++n) {
    AuditLine line;
    line.user = n % 2 == 0 ? "ann" : "bob";
    line.by = line.user + "@n1";
    line.verb = n % 3 == 0 ? "cancel" : "submit";
    line.object = std::string(object_bytes, 'o');
    line.unix_ms = static_cast<std::int64_t>(n) * 1000;
    book.add(line);
  }
  return book;
}

std::vector<std::uint64_t> numbers_of(const AuditBook& book, AuditQuery query) {
  std::vector<std::uint64_t> numbers;
  for (int pages = 0; pages < 1000; ++pages) {
    const AuditPage page = audit_page(book, query, kNow, no_name);
    EXPECT_LE(page.lines.size(), kAuditPage);
    EXPECT_LE(encode_payload(page).size(), 512U << 10);
    for (const AuditInfo& line : page.lines) {
      numbers.push_back(line.number);
    }
    if (page.next == 0) {
      return numbers;
    }
    query.after = page.next;
    query.newest = 0;
  }
  ADD_FAILURE() << "the pages do not end";
  return numbers;
}

TEST(AuditModel, PagesHaveEachLineOnce) {
  const std::size_t lines = 3 * kAuditPage;
  const auto numbers = numbers_of(book_of(lines), {});
  ASSERT_EQ(numbers.size(), lines);
  for (std::size_t i = 0; i < lines; ++i) {
    EXPECT_EQ(numbers[i], i + 1);
  }
}

TEST(AuditModel, LongLinesMakeShorterPages) {
  const AuditBook book = book_of(4000, scheduler::kAuditTextBytesMax);
  EXPECT_EQ(numbers_of(book, {}).size(), 4000U);
}

TEST(AuditModel, FiltersHold) {
  struct Row {
    AuditQuery query;
    std::vector<std::uint64_t> numbers;
  };
  const Row rows[] = {
      {{}, {1, 2, 3, 4, 5, 6, 7}},
      {{.user = "ann"}, {2, 4, 6}},
      {{.verb = "cancel"}, {3, 6}},
      {{.user = "bob", .verb = "cancel"}, {3}},
      {{.user = "eve"}, {}},
      {{.after = 5}, {6, 7}},
      {{.newest = 2}, {6, 7}},
      {{.newest = 2, .user = "bob"}, {5, 7}},
      {{.after = 6, .newest = 5}, {7}},
      {{.since_ms = kNow - 6000}, {6, 7}},
      {{.newest = 1, .since_ms = kNow - 3000, .user = "ann"}, {6}},
  };
  const AuditBook book = book_of(7);
  for (const Row& row : rows) {
    EXPECT_EQ(numbers_of(book, row.query), row.numbers)
        << row.query.user << " " << row.query.verb << " " << row.query.after;
  }
}

TEST(AuditModel, ALineWithoutATimeIsOfAnyAge) {
  AuditBook book;
  book.add({});
  EXPECT_EQ(audit_page(book, {.since_ms = 1}, kNow, no_name).lines.size(), 1U);
}

TEST(AuditModel, OperatorsSeeAllAndOthersTheirOwnLines) {
  scheduler::Directory directory;
  directory.found({"root"}, LogIndex(1));
  scheduler::DirectoryChange change;
  for (const char* role : {"viewer", "user", "lead", "operator", "admin"}) {
    change.users.push_back({role, false, scheduler::role_of(role)});
  }
  ASSERT_TRUE(directory.change(change, LogIndex(2)));
  struct Row {
    const char* asker;
    const char* about;
    bool is_let;
    const char* looked_at;
  };
  const Row rows[] = {
      {"viewer", "", true, "viewer"},
      {"user", "", true, "user"},
      {"lead", "", true, "lead"},
      {"user", "user", true, "user"},
      {"user", "admin", false, "admin"},
      {"lead", "user", false, "user"},
      {"operator", "", true, ""},
      {"operator", "user", true, "user"},
      {"admin", "", true, ""},
      {"admin", "operator", true, "operator"},
      {"", "", false, ""},
  };
  for (const Row& row : rows) {
    AuditQuery query{.user = row.about};
    bool is_own = false;
    EXPECT_EQ(why_not_audit(directory, row.asker, query, is_own).empty(), row.is_let) << row.asker;
    EXPECT_EQ(query.user, row.looked_at) << row.asker;
  }
}

}  // namespace
}  // namespace muster::agent
