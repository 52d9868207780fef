// Goal: whatever is done to an audit file is found, at the line where it was done or the next.

#include "agent/api/json/audit_check.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/api/json/audit_file_line.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::agent {
namespace {

constexpr std::uint64_t kFirstNumber = 5;
constexpr std::size_t kLinesOfFile = 12;

const ClusterId kOne = ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'c'));
const ClusterId kOther = ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'd'));

AuditInfo info_of(std::uint64_t number) {
  AuditInfo line;
  line.number = number;
  line.index = LogIndex(100 + number);
  line.unix_ms = 1'700'000'000'000 + number;
  line.by = "ann@n1";
  line.user = "ann";
  line.host = HostId::from_bytes(std::string(16, 'h'));
  line.host_name = "n1";
  line.proof = "host";
  line.verb = "submit";
  line.object = "job " + std::to_string(number);
  line.outcome = "done";
  return line;
}

class AuditFileChecked : public ::testing::Test {
 protected:
  using Texts = std::vector<std::string>;

  void add(Texts& file, const std::string& line) {
    file.push_back(line);
    end_ = *end_of_line(verifier_, line);
  }
  /// Lines before kFirstNumber are missing, as the first line says.
  Texts whole_file(const ClusterId& cluster = kOne) {
    Texts file;
    end_ = chain_begin();
    add(file, audit_gap_line(end_, cluster, kFirstNumber - 1));
    for (std::uint64_t i = 0; i + 1 < kLinesOfFile; ++i) {
      add(file, audit_file_line(end_, cluster, info_of(kFirstNumber + i)));
    }
    return file;
  }
  AuditFileReport check(const Texts& file, std::optional<ChainEnd> noted = std::nullopt,
                        bool has_rest = false) {
    AuditCheck check(verifier_, "/f", std::move(noted));
    for (const std::string& line : file) {
      if (!check.take(line)) {
        break;
      }
    }
    return check.finish(has_rest);
  }

  gossip::testing::StandInVerifier verifier_;
  ChainEnd end_ = chain_begin();  ///< Of the file that was made last.
};

TEST_F(AuditFileChecked, AWholeFileIsDescribed) {
  const AuditFileReport report = check(whole_file());
  EXPECT_EQ(report.why, "");
  EXPECT_EQ(report.wrong_line, 0U);
  EXPECT_EQ(report.lines, kLinesOfFile);
  EXPECT_EQ(report.missing, kFirstNumber - 1);
  EXPECT_EQ(report.first_unix_ms, 1'700'000'000'005U);
  EXPECT_EQ(report.last_unix_ms, 1'700'000'000'015U);
  EXPECT_EQ(report.end, end_);
  EXPECT_EQ(report.path, "/f");
}

TEST_F(AuditFileChecked, AnEmptyFileIsWhole) {
  EXPECT_EQ(check({}).wrong_line, 0U);
  EXPECT_EQ(check({}).end, chain_begin());
}

TEST_F(AuditFileChecked, EachTamperingIsFoundBesideANotedEnd) {
  const Texts whole = whole_file();
  const ChainEnd noted = end_;
  struct Tampering {
    const char* what;
    void (*act)(Texts&, std::size_t at);
  };
  const Tampering kTable[] = {
      {"removed",
       [](Texts& file, std::size_t at) {
         file.erase(file.begin() + static_cast<std::ptrdiff_t>(at));
       }},
      {"repeated",
       [](Texts& file, std::size_t at) {
         file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), file[at]);
       }},
      {"moved to the end",
       [](Texts& file, std::size_t at) {
         file.push_back(file[at]);
         file.erase(file.begin() + static_cast<std::ptrdiff_t>(at));
         file.emplace_back();
       }},
      {"swapped with the next",
       [](Texts& file, std::size_t at) { std::swap(file[at], file[(at + 1) % file.size()]); }},
      {"emptied", [](Texts& file, std::size_t at) { file[at].clear(); }},
      {"cut in half", [](Texts& file, std::size_t at) { file[at].resize(file[at].size() / 2); }},
      {"two made one",
       [](Texts& file, std::size_t at) {
         file[at] += file[(at + 1) % file.size()];
         file.erase(file.begin() + static_cast<std::ptrdiff_t>((at + 1) % file.size()));
       }},
      {"cut off", [](Texts& file, std::size_t at) { file.resize(at); }},
  };
  for (const Tampering& each : kTable) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      Texts file = whole;
      each.act(file, at);
      EXPECT_NE(check(file, noted).wrong_line, 0U) << each.what << " at " << at;
      const bool is_in_middle = at + 1 < whole.size() && std::string(each.what) != "cut off";
      if (is_in_middle) {
        const std::uint64_t wrong = check(file).wrong_line;
        EXPECT_GE(wrong, at + 1) << each.what;
        EXPECT_LE(wrong, at + 2) << each.what << ": at that line or the next";
      }
    }
  }
}

TEST_F(AuditFileChecked, EachChangedByteIsFoundBesideANotedEnd) {
  const Texts whole = whole_file();
  const ChainEnd noted = end_;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (std::size_t byte = 0; byte < whole[at].size(); ++byte) {
      Texts file = whole;
      file[at][byte] = static_cast<char>(file[at][byte] ^ 1);
      const std::uint64_t wrong = check(file, noted).wrong_line;
      ASSERT_TRUE(wrong == at + 1 || wrong == at + 2) << "line " << at << " byte " << byte;
    }
  }
}

TEST_F(AuditFileChecked, LinesThatAreMissingWithoutAWordAreFound) {
  Texts file = whole_file();
  add(file, audit_file_line(end_, kOne, info_of(kFirstNumber + kLinesOfFile)));
  EXPECT_EQ(check(file).wrong_line, kLinesOfFile + 1);
  EXPECT_EQ(check(file).why, "lines of the audit are missing before it, and no line says so");
}

TEST_F(AuditFileChecked, ALineOfAnotherClusterIsFound) {
  Texts file = whole_file();
  add(file, audit_file_line(end_, kOther, info_of(end_.number + 1)));
  EXPECT_EQ(check(file).why, "it is of another cluster than the first line");
}

TEST_F(AuditFileChecked, ANotedEndThatALaterLineHasPassedStillCounts) {
  Texts file = whole_file();
  const ChainEnd noted = end_;
  add(file, audit_file_line(end_, kOne, info_of(end_.number + 1)));
  EXPECT_EQ(check(file, noted).why, "");
  const ChainEnd forged{noted.number, std::string(64, 'a')};
  EXPECT_EQ(check(file, forged).wrong_line, kLinesOfFile);
  EXPECT_EQ(check(file, ChainEnd{2, std::string(64, 'a')}).wrong_line, 1U)
      << "the file once had a line where it now states a gap";
}

TEST_F(AuditFileChecked, ALineWithoutAnEndIsFound) {
  const AuditFileReport report = check(whole_file(), std::nullopt, true);
  EXPECT_EQ(report.wrong_line, kLinesOfFile + 1);
  EXPECT_NE(report.why.find("it has no end"), std::string::npos) << report.why;
}

TEST_F(AuditFileChecked, ALineThatIsNoJsonOfItsKindIsFound) {
  for (const std::string rest :
       {"", "\"cluster\":1", "\"cluster\":\"c\",\"unix_ms\":-1",
        "\"cluster\":\"c\",\"index\":\"1\"", "\"cluster\":\"c\",\"number\":7", "\"cluster\":\"c\"x",
        "\"cluster\":\"c\",\"a\":[[[["}) {
    EXPECT_EQ(check({chain_line(chain_begin(), 1, rest)}).wrong_line, 1U) << rest;
  }
  EXPECT_EQ(check({chain_line(chain_begin(), 1, "\"cluster\":\"c\"")}).wrong_line, 0U)
      << "members of later versions are no matter";
}

TEST_F(AuditFileChecked, TheLongestLineOfAnAuditFits) {
  AuditInfo line = info_of(1);
  for (std::string* text : {&line.by, &line.user, &line.verb, &line.object, &line.why}) {
    *text = std::string(256, '\x01');
  }
  line.host_name = line.told_by = std::string(256, '"');
  EXPECT_EQ(check({audit_file_line(chain_begin(), kOne, line)}).why, "");
}

}  // namespace
}  // namespace muster::agent
