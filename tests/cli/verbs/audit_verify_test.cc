// muster audit verify: its lines, its JSON and its exit codes. Files are stand-ins.

#include <gtest/gtest.h>

#include <map>

#include "tests/cli/kit/fake_world.h"

namespace muster::cli {
namespace {

using agent::AuditFileReport;
using agent::ChainEnd;

const std::string kDigest(64, 'a');

AuditFileReport whole_audit() {
  AuditFileReport report;
  report.path = "/good";
  report.lines = 12;
  report.first_unix_ms = 1'700'000'000'123;
  report.last_unix_ms = 1'700'000'061'000;
  report.end = {12, kDigest};
  return report;
}

AuditFileReport wrong_audit() {
  AuditFileReport report = whole_audit();
  report.path = "/bad";
  report.missing = 30;
  report.wrong_line = 13;
  report.why = "it has no end";
  return report;
}

/// Knows /good and /bad, and keeps the noted end.
class AuditWorld : public FakeWorld {
 public:
  AuditWorld() {
    world().files.audit = [this](const std::string& path,
                                 const std::optional<ChainEnd>& given) -> Result<AuditFileReport> {
      noted = given;
      if (path == "/good" || path == "/bad") {
        return path == "/good" ? whole_audit() : wrong_audit();
      }
      return Error{ErrorCode::kNotFound, path + " cannot be read: No such file or directory"};
    };
  }
  std::optional<ChainEnd> noted;
};

TEST(AuditVerify, AWholeFileIsToldInTwoLines) {
  AuditWorld world;
  EXPECT_EQ(world.output_of({"audit", "verify", "/good"}),
            "/good: all 12 lines fit, from 2023-11-14 22:13:20 to 2023-11-14 22:14:21\n"
            "  end 12:" +
                kDigest + "\n");
  EXPECT_TRUE(world.requests().empty()) << "it needs no agent";
}

TEST(AuditVerify, TheFirstWrongLineIsToldAndFails) {
  AuditWorld world;
  EXPECT_EQ(world.run({"audit", "verify", "/good", "/bad"}), 1);
  EXPECT_NE(world.out().find("/bad: line 13 is wrong: it has no end\n"
                             "  12 lines before it fit, from 2023-11-14 22:13:20 to 2023-11-14 "
                             "22:14:21\n"
                             "  30 lines of the audit are not in the file, as it says itself\n"),
            std::string::npos)
      << world.out();
}

TEST(AuditVerify, AFileThatIsNotThereHasItsExitCodeAndTheOthersAreChecked) {
  AuditWorld world;
  EXPECT_EQ(world.run({"audit", "verify", "/none", "/good"}), 6);
  EXPECT_EQ(world.err(), "muster: /none cannot be read: No such file or directory\n");
  EXPECT_NE(world.out().find("/good: all 12 lines fit"), std::string::npos) << world.out();
}

TEST(AuditVerify, Json) {
  AuditWorld world;
  EXPECT_EQ(world.run({"audit", "verify", "--json", "/bad", "/none"}), 1);
  EXPECT_EQ(world.out(),
            R"({"audit_files":[{"path":"/bad","line_count":12,"lines_missing":30,)"
            R"("first_unix_ms":1700000000123,"last_unix_ms":1700000061000,"last_audit_number":12,)"
            R"("last_digest":")" +
                kDigest +
                R"(","wrong_line":13,"why":"it has no end"},{"path":"/none","line_count":0,)"
                R"("lines_missing":0,"first_unix_ms":null,"last_unix_ms":null,)"
                R"("last_audit_number":null,"last_digest":null,"wrong_line":null,)"
                R"("why":"/none cannot be read: No such file or directory"}]})"
                "\n");
  EXPECT_EQ(world.err(), "");
}

TEST(AuditVerify, TakesAnEndThatWasPrintedEarlier) {
  AuditWorld world;
  EXPECT_EQ(world.run({"audit", "verify", "--noted", "12:" + kDigest, "/good"}), 0);
  EXPECT_EQ(world.noted, (ChainEnd{12, kDigest}));
  for (const std::string& wrong : {std::string("12"), "12:" + kDigest + "a", "x:" + kDigest,
                                   "12:" + std::string(64, 'A'), std::string(":")}) {
    AuditWorld other;
    EXPECT_EQ(other.run({"audit", "verify", "--noted", wrong, "/good"}), 2) << wrong;
    EXPECT_NE(other.err().find("is not the end of a file"), std::string::npos) << other.err();
  }
  AuditWorld two;
  EXPECT_EQ(two.run({"audit", "verify", "--noted", "12:" + kDigest, "/good", "/bad"}), 2);
}

TEST(AuditVerify, OneLineIsToldAsOne) {
  AuditWorld world;
  world.world().files.audit = [](const std::string& path, const std::optional<ChainEnd>&) {
    AuditFileReport report;
    report.path = path;
    report.lines = 1;
    report.end = {1, kDigest};
    return Result<AuditFileReport>(report);
  };
  EXPECT_EQ(world.output_of({"audit", "verify", "/f"}),
            "/f: 1 line fits\n  end 1:" + kDigest + "\n");
}

TEST(AuditVerify, NeedsAFile) {
  AuditWorld world;
  EXPECT_EQ(world.run({"audit", "verify"}), 2);
  EXPECT_NE(world.err().find("FILE is required"), std::string::npos) << world.err();
}

}  // namespace
}  // namespace muster::cli
