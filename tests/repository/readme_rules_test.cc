// The rule of READMEs finds what it claims to. Whether those of the tree keep it is asked in
// repository_test.cc.

#include <gtest/gtest.h>

#include "tests/repository/readme_rules.h"

namespace muster::repository {
namespace {

const std::set<std::string> kPaths = {
    "STYLE.md",          "crdt/README.md",    "crdt/CMakeLists.txt",   "crdt/join.h",
    "crdt/join.cc",      "crdt/seal.h",       "crdt/rows/row.h",       "crdt/edge/disk/lock.py",
    "crdt/golden/a.txt", "gossip/base/ids.h", "gossip/base/README.md",
};
/// It names the folders of crdt, and no more.
const std::string kFolders = "Below: `rows/`, `edge/`.\n";

Violations found_in(const std::string& text) {
  return check_readme({"crdt/README.md", text}, kPaths);
}

std::size_t found(const std::string& text) {
  return found_in(kFolders + text).size();
}

TEST(ReadmeRules, AFileThatIsNotThereIsFound) {
  EXPECT_EQ(found("Read `join.h`, then `row.h` or `rows/row.h`.\n"), 0U) << "here, or below";
  EXPECT_EQ(found("`gossip/base/ids.h`, `../gossip/base/`, `../STYLE.md`, `./join.cc`\n"), 0U);
  EXPECT_EQ(found("`disk/lock`, `edge/disk`, `join.*`, `*/a.txt`, `golden/NAME.txt`\n"), 0U);
  EXPECT_EQ(found("Read `meet.h`.\n"), 1U);
  EXPECT_EQ(found("Read `PROTOCOL.md`.\n"), 1U) << "README.md does not stand for it";
  EXPECT_EQ(found("Read `ids.h`.\n"), 1U) << "in another folder";
  EXPECT_EQ(found("`gossip/base/row.h`, `../crdt/ids.h`, `rows/seal`, `meet.*`\n"), 4U);
  EXPECT_EQ(found("The folder `store/` is described in `golden/NAME.md`.\n"), 2U);
  EXPECT_EQ(found_in(kFolders + "\nRead `meet.h`.\n").at(0),
            "crdt/README.md:3: there is no meet.h");
}

TEST(ReadmeRules, NamesOfOtherThingsThanPathsAreLeftAlone) {
  EXPECT_EQ(found("`Persisted`, `take_output()`, `--real`, `/proc/PID/stat`, `DATA/id`,"
                  "`build/asan/crdt_test`, `{\"a\":1}`, `agent`\n"),
            0U);
  EXPECT_EQ(found("`id/`, `raft/`, `state/`, `history/`, `grants/`, `DATA/raft`\n"), 0U)
      << "on a host's disk";
  EXPECT_EQ(found("`raft/log.h`, `edge/raft/`\n"), 2U) << "in the tree";
  EXPECT_EQ(found("\n| room | what |\n|--|--|\n| `raft/` | a |\n"), 1U) << "listed as a room";
}

TEST(ReadmeRules, AWholeWordInCapitalsStandsForOneWord) {
  EXPECT_EQ(found("`golden/NAME.txt`, `golden/A_NAME.*`, `edge/DIR/lock.py`\n"), 0U);
  EXPECT_EQ(found("`gossip/ROOM/ids.h`, `golden/a.ENDING`\n"), 0U);
  EXPECT_EQ(found("`edge/NAME.py`, `edge/*.py`, `NAME/lock.cc`\n"), 3U) << "a slash is no part";
  EXPECT_EQ(found("`golden/NAMEs.txt`, `golden/XNAME2.txt`, `golden/X.txt`\n"), 3U) << "no words";
  EXPECT_EQ(found("`HTTP.h`, `TCP/IP`, `NAME.*`, `../NAME.h`, `TCP/*`\n"), 5U)
      << "they would stand for all there is";
}

TEST(ReadmeRules, EachNameInTheFirstColumnOfATableIsThere) {
  EXPECT_EQ(found("\n| room | what |\n|--|--|\n| `rows/`, `edge` | `agent` |\n"), 0U);
  EXPECT_EQ(found("\n| room | what |\n|--|--|\n| `rows/`, `meet` | `agent` |\n"), 1U);
  EXPECT_EQ(found("\n| folder | what |\n|--|--|\n| `rows meet` | a |\n"), 1U);
  EXPECT_EQ(found("\n|Room|what|\n|--|--|\n|`rows/`, `meet`|`agent`|\n"), 1U) << "another heading";
  EXPECT_EQ(found("\n| bench | what |\n|--|--|\n| `meet` | a |\n"), 0U) << "no names of files";
  EXPECT_EQ(found("\n| room | what |\n|--|--|\n| `rows` | a |\n\n`meet`\n"), 0U) << "behind it";
}

TEST(ReadmeRules, AFolderThatIsNotNamedIsFound) {
  EXPECT_EQ(found_in("`rows/`, `edge/disk/`\n").size(), 0U);
  EXPECT_EQ(found_in("`rows edge`\n").size(), 0U);
  EXPECT_EQ(found_in("`crdt/rows/row.h`, `edge/disk/lock.py`\n").size(), 0U);
  EXPECT_EQ(found_in("rows, `edge/`\n").size(), 1U) << "not in backquotes";
  EXPECT_EQ(found_in("`row.h`\n").size(), 2U) << "golden/ holds no sources";
}

TEST(ReadmeRules, ANounThatIsNotListedIsFound) {
  const std::string table = "\n| file | what |\n|--|--|\n";
  EXPECT_EQ(found(table + "| `join`, `seal` | a |\n"), 0U);
  EXPECT_EQ(found(table + "| `join.h`, `se*.h` | a |\n"), 0U);
  EXPECT_EQ(found("|File| what |\n|--|--|\n| `join` | a |\n"), 1U);
  EXPECT_EQ(found("\n|  FILE  |\n|--|\n| `join` |\n"), 1U);
  EXPECT_EQ(found("Read `seal.h` first.\n" + table + "| `join` | a |\n"), 0U);
  EXPECT_EQ(found(table + "| `join` | a |\n"), 1U);
  EXPECT_EQ(found(table + "| `join`, seal | a |\n"), 1U) << "not in backquotes";
  EXPECT_EQ(found(table + "| `join`, `seal`, `meet` | a |\n"), 1U) << "one that is not there";
  EXPECT_EQ(found("\n| room | what |\n|--|--|\n| `rows/` | a |\n"), 0U) << "no table of files";
}

}  // namespace
}  // namespace muster::repository
