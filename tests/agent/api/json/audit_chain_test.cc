// Goal: a file of the audit shows every change but a cut of its end.

#include "agent/api/json/audit_chain.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gossip/base/stand_in_keys.h"

namespace muster::agent {
namespace {

using Lines = std::vector<std::string>;

class AuditChain : public ::testing::Test {
 protected:
  Lines file_of(std::size_t count) {
    Lines lines;
    ChainReader reader(verifier_);
    for (std::size_t i = 0; i < count; ++i) {
      lines.push_back(chain_line(reader.end(), 100 + 2 * i,
                                 i == 3 ? "" : "\"user\":\"u" + std::to_string(i) + "\""));
      EXPECT_EQ(reader.take(lines.back()), "");
    }
    return lines;
  }
  /// The index of the first line that does not fit; the count of lines if all fit.
  std::size_t first_bad(const Lines& lines) {
    ChainReader reader(verifier_);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!reader.take(lines[i]).empty()) {
        return i;
      }
    }
    return lines.size();
  }
  ChainEnd end_of(const Lines& lines) {
    ChainReader reader(verifier_);
    for (const std::string& line : lines) {
      EXPECT_EQ(reader.take(line), "");
    }
    return reader.end();
  }

  gossip::testing::StandInVerifier verifier_;
};

TEST_F(AuditChain, AWholeFileFits) {
  const Lines lines = file_of(20);
  EXPECT_EQ(first_bad(lines), lines.size());
  EXPECT_EQ(end_of(lines).number, 138U) << "numbers may have gaps";
}

TEST_F(AuditChain, EachChangedByteIsFoundAtItsLineOrTheNext) {
  const Lines lines = file_of(20);
  const ChainEnd end = end_of(lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t at = 0; at < lines[i].size(); ++at) {
      for (const int mask : {1, 0x20, 0x80}) {
        Lines changed = lines;
        changed[i][at] = static_cast<char>(changed[i][at] ^ mask);
        const std::size_t bad = first_bad(changed);
        const bool is_found =
            bad == i || bad == i + 1 || (i + 1 == lines.size() && !(end_of(changed) == end));
        ASSERT_TRUE(is_found) << "line " << i << " byte " << at;
      }
    }
  }
}

TEST_F(AuditChain, RemovedAddedMovedAndRepeatedLinesAreFound) {
  const Lines lines = file_of(20);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    Lines changed = lines;
    changed.erase(changed.begin() + at);
    EXPECT_EQ(first_bad(changed), i) << "removed";
    changed = lines;
    changed.insert(changed.begin() + at, lines[i]);
    EXPECT_EQ(first_bad(changed), i + 1) << "repeated";
    changed = lines;
    std::swap(changed[i], changed[i + 1]);
    EXPECT_EQ(first_bad(changed), i) << "swapped";
    changed = lines;
    changed.insert(changed.begin() + at, chain_line(chain_begin(), 1, ""));
    EXPECT_LE(first_bad(changed), i + 1) << "added";
  }
}

TEST_F(AuditChain, ACutEndFitsAndHasAnotherEnd) {
  const Lines lines = file_of(20);
  const Lines cut(lines.begin(), lines.begin() + 15);
  EXPECT_EQ(first_bad(cut), cut.size());
  EXPECT_NE(end_of(cut), end_of(lines));
}

TEST_F(AuditChain, ALineOfAnotherKindOrSizeIsRefused) {
  for (const std::string& line :
       {std::string(), std::string("{}"), std::string("{\"prev\":\""), std::string(100'000, '{'),
        chain_line(chain_begin(), 0, ""), chain_line(chain_begin(), 5, "") + " ",
        chain_line(chain_begin(), 5, std::string(kChainLineBytesMax, 'a'))}) {
    EXPECT_EQ(first_bad({line}), 0U) << line.substr(0, 80);
  }
}

}  // namespace
}  // namespace muster::agent
