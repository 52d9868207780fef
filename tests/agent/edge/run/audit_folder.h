#pragma once
// A folder with an audit file for one test, and lines for it. A line of a number is always the
// same.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "agent/api/audit.h"
#include "agent/api/json/audit_check.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::agent {

inline const ClusterId kAuditCluster =
    ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'c'));

inline AuditInfo audit_line(std::uint64_t number) {
  AuditInfo line;
  line.number = number;
  line.index = LogIndex(100 + number);
  line.unix_ms = 1'700'000'000'000 + number;
  line.user = "ann";
  line.by = "ann@n1";
  line.host_name = "n1";
  line.verb = "submit";
  line.object = "job " + std::to_string(number);
  line.outcome = "done";
  return line;
}

inline std::vector<AuditInfo> audit_lines(std::uint64_t first, std::uint64_t last) {
  std::vector<AuditInfo> lines;
  for (std::uint64_t number = first; number <= last; ++number) {
    lines.push_back(audit_line(number));
  }
  return lines;
}

class AuditFolder : public ::testing::Test {
 protected:
  AuditFolder() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~AuditFolder() override { std::filesystem::remove_all(folder_); }

  const std::string& folder() const { return folder_; }
  std::string path() const { return folder_ + "/audit"; }
  std::string text(const std::string& suffix = "") const {
    std::ifstream file(path() + suffix, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }
  AuditFileReport check() const {
    AuditCheck check(*verifier_, path(), std::nullopt);
    std::ifstream file(path(), std::ios::binary);
    bool fits = true;
    for (std::string line; fits && std::getline(file, line);) {
      fits = check.take(line);
    }
    return check.finish(false);
  }

  const std::shared_ptr<const gossip::Verifier> verifier_ =
      std::make_shared<gossip::testing::StandInVerifier>();

 private:
  std::string folder_ = "/tmp/muster-audit-XXXXXX";
};

}  // namespace muster::agent
