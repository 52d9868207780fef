// An audit file as it lies on the disk: larger than one piece, with an endless line, or not there.

#include "cli/edge/audit_reader.h"

#include "agent/api/json/audit_file_line.h"
#include "agent/edge/disk/host_key.h"
#include "tests/cli/edge/scratch_folder.h"

namespace muster::cli {
namespace {

class AuditReader : public ScratchFolder {
 protected:
  static std::string audit_of(std::uint64_t lines) {
    const agent::HostKeyVerifier verifier;
    const ClusterId cluster = ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'c'));
    agent::ChainEnd end = agent::chain_begin();
    std::string text;
    for (std::uint64_t number = 1; number <= lines; ++number) {
      agent::AuditInfo info;
      info.number = number;
      info.user = "ann";
      const std::string line = agent::audit_file_line(end, cluster, info);
      end = *agent::end_of_line(verifier, line);
      text += line + "\n";
    }
    return text;
  }
  agent::AuditFileReport report(const std::string& text) {
    write("audit", text);
    return *check_audit_file(path("audit"), std::nullopt);
  }
};

TEST_F(AuditReader, ReadsAFileOfManyPieces) {
  std::string text = audit_of(8'000);
  ASSERT_GT(text.size(), std::size_t{2} << 20);
  EXPECT_EQ(report(text).lines, 8'000U);
  EXPECT_EQ(report(text).why, "");
  EXPECT_EQ(report(text).path, path("audit"));
  text[text.size() / 2] ^= 1;
  EXPECT_NEAR(static_cast<double>(report(text).wrong_line), 4'000, 50);
}

TEST_F(AuditReader, FindsALineThatHasNoEnd) {
  const std::string text = audit_of(3);
  EXPECT_EQ(report(text.substr(0, text.size() - 1)).wrong_line, 3U);
  EXPECT_EQ(report(text.substr(0, text.size() - 1)).lines, 2U);
  EXPECT_EQ(report(text + std::string(5 << 20, 'x')).wrong_line, 4U) << "nor one without end";
  EXPECT_EQ(report(std::string(5 << 20, '\0')).wrong_line, 1U);
  EXPECT_EQ(report("").wrong_line, 0U);
}

TEST_F(AuditReader, SaysWhyAFileCannotBeRead) {
  const auto none = check_audit_file(path("none"), std::nullopt);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().text, path("none") + " cannot be read: No such file or directory");
  const auto folder = check_audit_file(path(""), std::nullopt);
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace muster::cli
