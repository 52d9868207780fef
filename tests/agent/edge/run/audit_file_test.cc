// Goal: an audit file goes on where it ended, is never written over, and shows each gap. Method:
// real files; their text is read back and checked as `muster audit verify` does.

#include "agent/edge/run/audit_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/api/json/audit_check.h"
#include "tests/agent/edge/run/audit_folder.h"

namespace muster::agent {
namespace {

class AuditFileOnDisk : public AuditFolder {
 protected:
  std::unique_ptr<AuditFile> open(const ClusterId& cluster = kAuditCluster) {
    auto file = AuditFile::open({path(), cluster, verifier_});
    EXPECT_TRUE(file.has_value()) << file.error().text;
    return *std::move(file);
  }
  ErrorCode why_not_opened() {
    const auto file = AuditFile::open({path(), kAuditCluster, verifier_});
    EXPECT_FALSE(file.has_value());
    return file.has_value() ? ErrorCode::kUnknown : file.error().code;
  }
  static std::string names_of(const std::vector<Event>& events) {
    std::string names;
    for (const Event& event : events) {
      names += (names.empty() ? "" : " ") + std::string(event.name);
    }
    return names;
  }
};

TEST_F(AuditFileOnDisk, GoesOnBehindARestart) {
  EXPECT_TRUE(open()->append(audit_lines(1, 3)));
  auto file = open();
  EXPECT_EQ(file->end().number, 3U);
  EXPECT_TRUE(file->append(audit_lines(4, 5)));
  EXPECT_EQ(names_of(file->take_events()), "");
  const AuditFileReport report = check();
  EXPECT_EQ(report.why, "");
  EXPECT_EQ(report.lines, 5U);
  EXPECT_EQ(report.missing, 0U);
  EXPECT_EQ(report.end, file->end());
}

TEST_F(AuditFileOnDisk, IsForItsOwnerAlone) {
  std::ofstream(path()).close();
  std::filesystem::permissions(path(), std::filesystem::perms(0644));
  open();
  struct stat facts {};
  ASSERT_EQ(stat(path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777U, 0600U);
}

TEST_F(AuditFileOnDisk, StatesLinesThatTheLogNoLongerHas) {
  EXPECT_TRUE(open()->append(audit_lines(40, 41)));
  EXPECT_TRUE(open()->append(audit_lines(45, 45)));
  const AuditFileReport report = check();
  EXPECT_EQ(report.why, "");
  EXPECT_EQ(report.lines, 5U) << "three lines, and one for each gap";
  EXPECT_EQ(report.missing, 39U + 3U);
}

TEST_F(AuditFileOnDisk, ALineWrittenInPartIsCutAndWrittenAgain) {
  EXPECT_TRUE(open()->append(audit_lines(1, 3)));
  const std::string whole = text();
  const std::size_t third = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t size = third + 1; size < whole.size(); size += 7) {
    write(whole.substr(0, size));
    auto file = open();
    EXPECT_EQ(names_of(file->take_events()), "audit_file_mended");
    EXPECT_EQ(file->end().number, 2U);
    EXPECT_TRUE(file->append(audit_lines(3, 3)));
    ASSERT_EQ(text(), whole) << "torn at " << size;
  }
  write(whole.substr(0, 5));
  EXPECT_EQ(open()->end(), chain_begin()) << "even the first line";
}

TEST_F(AuditFileOnDisk, ZerosOfACrashAreCutToo) {
  EXPECT_TRUE(open()->append(audit_lines(1, 3)));
  const std::string whole = text();
  const std::size_t second = whole.find('\n') + 1;
  std::string holed = whole;
  holed.replace(second + 10, 30, 30, '\0');
  write(holed);
  auto file = open();
  EXPECT_EQ(file->end().number, 1U) << "lines behind the hole are no proof";
  EXPECT_TRUE(file->append(audit_lines(2, 3)));
  EXPECT_EQ(text(), whole);
}

TEST_F(AuditFileOnDisk, AnEndThatIsDamagedIsSetAsideWhole) {
  EXPECT_TRUE(open()->append(audit_lines(1, 3)));
  const std::string damaged = text() + "{\"prev\":\"and so on\"}\n";
  write(damaged);
  auto file = open();
  EXPECT_EQ(names_of(file->take_events()), "audit_file_set_aside");
  EXPECT_EQ(file->end(), chain_begin());
  EXPECT_EQ(text(".1"), damaged);
  EXPECT_TRUE(file->append(audit_lines(1, 3)));
  EXPECT_EQ(check().why, "");
}

TEST_F(AuditFileOnDisk, AFileOfAnotherClusterIsSetAside) {
  EXPECT_TRUE(open()->append(audit_lines(1, 3)));
  const std::string first = text();
  const ClusterId other = ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'o'));
  EXPECT_TRUE(open(other)->append(audit_lines(1, 2)));
  EXPECT_EQ(text(".1"), first);
  EXPECT_EQ(check().lines, 2U);
  EXPECT_TRUE(open()->append(audit_lines(1, 1)));
  EXPECT_EQ(text(".1"), first) << "what was set aside stays";
  EXPECT_NE(text(".2"), "");
}

TEST_F(AuditFileOnDisk, KnowsALogThatWasSetBack) {
  EXPECT_TRUE(open()->append(audit_lines(1, 3)));
  auto file = open();
  AuditInfo line = audit_lines(3, 3).front();
  EXPECT_FALSE(file->contradicts(line));
  line.unix_ms += 1;
  EXPECT_TRUE(file->contradicts(line));
  line.number = 2;
  EXPECT_FALSE(file->contradicts(line)) << "only the last line is known";
}

TEST_F(AuditFileOnDisk, RefusesAFileThatIsNotItsOwn) {
  write("[settings]\nname = \"n1\"\n");
  EXPECT_EQ(why_not_opened(), ErrorCode::kInvalid);
  EXPECT_EQ(text(), "[settings]\nname = \"n1\"\n");
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  EXPECT_EQ(why_not_opened(), ErrorCode::kIo);
  std::filesystem::remove(path());
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(why_not_opened(), ErrorCode::kInvalid);
  std::filesystem::remove(path());
  const auto first = open();
  EXPECT_EQ(why_not_opened(), ErrorCode::kConflict) << "another agent writes to it";
}

TEST_F(AuditFileOnDisk, RefusesAFileOfAnotherUser) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root gives files away";
  }
  write("");
  ASSERT_EQ(lchown(path().c_str(), 65'534, 65'534), 0);
  EXPECT_EQ(why_not_opened(), ErrorCode::kDenied);
}

TEST_F(AuditFileOnDisk, NoticesThatOthersTouchedIt) {
  auto file = open();
  EXPECT_TRUE(file->append(audit_lines(1, 3)));
  EXPECT_TRUE(file->is_as_left());
  std::filesystem::resize_file(path(), 10);
  EXPECT_FALSE(file->is_as_left()) << "cut";
  file = nullptr;
  file = open();
  std::filesystem::rename(path(), path() + ".old");
  EXPECT_FALSE(file->is_as_left()) << "moved";
}

TEST_F(AuditFileOnDisk, ALongBatchHasItsGapsAndFits) {
  EXPECT_TRUE(open()->append(audit_lines(1, 3'000)));
  EXPECT_GT(text().size(), 2 * AuditFile::kBatchBytesMax);
  EXPECT_EQ(check().lines, 3'000U);
  EXPECT_EQ(open()->end().number, 3'000U);
}

}  // namespace
}  // namespace muster::agent
