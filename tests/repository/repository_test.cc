// The house rules hold for every source file, and the rules themselves catch what they claim to:
// planted violations first, then the tree as it is.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/repository/class_rules.h"
#include "tests/repository/header_rules.h"
#include "tests/repository/readme_rules.h"
#include "tests/repository/rooms.h"
#include "tests/repository/source_rules.h"
#include "tests/repository/word_rules.h"

namespace muster::repository {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSourceFolders[] = {"gossip", "membership", "crdt",      "scheduler", "agent",
                                          "cli",    "tests",      "scenarios", "bench"};

fs::path root() {
  return MUSTER_SOURCE_DIR;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_source(const fs::path& path) {
  return path.extension() == ".cc" || path.extension() == ".h";
}

/// A folder that programs fill beside the sources.
bool is_made(const std::string& folder) {
  return folder.starts_with('.') || folder == "__pycache__" || folder == "venv" ||
         folder == "node_modules";
}

/// All files below a folder that people write, from `from`; none where there is no such folder.
std::vector<std::string> files_below(const fs::path& folder, const fs::path& from) {
  std::vector<std::string> files;
  if (!fs::exists(folder)) {
    return files;
  }
  for (fs::recursive_directory_iterator entry(folder), end; entry != end; ++entry) {
    if (entry->is_directory() && is_made(entry->path().filename().string())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      files.push_back(fs::relative(entry->path(), from).string());
    }
  }
  return files;
}

std::vector<SourceFile> sources() {
  std::vector<SourceFile> files;
  for (const char* folder : kSourceFolders) {
    for (const std::string& path : files_below(root() / folder, root())) {
      if (is_source(path)) {
        files.push_back({path, read_file(root() / path)});
      }
    }
  }
  return files;
}

/// Of all files that people write, sources or not.
std::set<std::string> all_paths() {
  std::set<std::string> paths;
  for (const auto& entry : fs::directory_iterator(root())) {
    if (entry.is_regular_file()) {
      paths.insert(entry.path().filename().string());
    }
  }
  std::vector<std::string> folders(std::begin(kSourceFolders), std::end(kSourceFolders));
  folders.push_back("cmake");
  for (const std::string& folder : folders) {
    const std::vector<std::string> files = files_below(root() / folder, root());
    paths.insert(files.begin(), files.end());
  }
  return paths;
}

/// All sources, and all documents.
std::vector<SourceFile> all_prose() {
  std::vector<SourceFile> files = sources();
  for (const std::string& path : all_paths()) {
    if (path.ends_with(".md")) {
      files.push_back({path, read_file(root() / path)});
    }
  }
  return files;
}

std::map<std::string, std::string> all_readmes() {
  std::map<std::string, std::string> readmes;
  for (const std::string& path : all_paths()) {
    if (path.ends_with("/README.md")) {
      readmes[path] = read_file(root() / path);
    }
  }
  return readmes;
}

std::set<std::string> paths_of(const std::vector<SourceFile>& files) {
  std::set<std::string> paths;
  for (const SourceFile& file : files) {
    paths.insert(file.path);
  }
  return paths;
}

std::string joined(const Violations& violations) {
  std::string text;
  for (const std::string& violation : violations) {
    text += "\n" + violation;
  }
  return text;
}

std::string function_of(int lines, const std::string& head = "int f(int x) {") {
  std::string text = "namespace n {\n" + head + "\n";
  for (int i = 2; i < lines; ++i) {
    text += "  x += '{' + \"}\"[0];  // }\n";
  }
  return text + "}\n}\n";
}

Violations functions(const std::string& text) {
  return check_functions({"gossip/a.cc", text});
}

TEST(Rules, ALongFunctionIsFound) {
  EXPECT_TRUE(functions(function_of(kFunctionLinesMax)).empty());
  const Violations found = functions(function_of(kFunctionLinesMax + 1));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], "gossip/a.cc:2: function of 71 lines, at most 70");
}

TEST(Rules, ALongFunctionIsFoundHoweverItIsWritten) {
  for (const std::string head :
       {"Result<std::vector<int>> Impl::f(const A& a, B b) const {",
        "A::A(int x)\n    : a_(x), b_(2) {", "TEST(A, B) {", "struct X f(int x) {",
        "void f(std::function<void()> g = nullptr) {",
        "template <class T>\nauto f(T x) -> int {"}) {
    EXPECT_EQ(functions(function_of(100, head)).size(), 1U) << head;
  }
}

TEST(Rules, LongClassesAndTablesAreNoFunctions) {
  for (const std::string head : {"class A {", "struct B : public C<D> {", "enum class E {",
                                 "const T kTable[] = {", "namespace x {"}) {
    EXPECT_TRUE(functions(function_of(100, head)).empty()) << head;
  }
}

TEST(Rules, AFunctionAfterADefaultedMemberIsFoundToo) {
  const std::string text =
      "struct A {\n  int x = 0;\n  std::array<int, 2> y{};\n" + function_of(80) + "};\n";
  EXPECT_EQ(functions(text).size(), 1U);
}

TEST(Rules, DeepNestingIsFound) {
  const std::string four = "if (a) { for (;;) { while (b) { switch (c) {";
  EXPECT_TRUE(functions("void f() {\n" + four + "}}}}\n}\n").empty());
  EXPECT_EQ(functions("void f() {\n" + four + " if (d) { g({1}); } }}}}\n}\n").size(), 1U);
}

TEST(Rules, LongFilesAndWideLinesAreFound) {
  EXPECT_TRUE(check_size({"a.cc", std::string(600, '\n')}).empty());
  EXPECT_EQ(check_size({"a.cc", std::string(601, '\n')}).size(), 1U);
  EXPECT_TRUE(check_size({"a.cc", std::string(100, 'x') + "\n"}).empty());
  EXPECT_EQ(check_size({"a.cc", std::string(101, 'x') + "\n"}).size(), 1U);
}

TEST(Rules, PromisesAreFound) {
  EXPECT_EQ(check_words({"a.cc", std::string("// TO") + "DO: later\n"}).size(), 1U);
  EXPECT_EQ(check_words({"a.cc", std::string("// FIX") + "ME\n"}).size(), 1U);
}

TEST(Rules, CitationsOfOtherPlacesAreFound) {
  const auto count = [](const std::string& comment) {
    return check_citations({"crdt/rows/a.h", "// " + comment + "\n"}).size();
  };
  EXPECT_EQ(count(std::string("As said (des") + "ign 8, rule 3)."), 1U);
  EXPECT_EQ(count(std::string("Des") + "ign 8: so it is."), 1U);
  EXPECT_EQ(count(std::string("mis") + "sion B11"), 1U);
  EXPECT_EQ(count(std::string("see detection") + ".md"), 1U);
  EXPECT_EQ(count("a design that holds; permission is asked (PROTOCOL.md, 8)"), 0U);
}

TEST(Rules, LibrariesStayWhereTheyAreFencedIn) {
  const auto count = [](const std::string& path, const std::string& header) {
    return check_libraries({path, "#include <" + header + ">\n"}).size();
  };
  EXPECT_EQ(count("gossip/wire/wire.cc", "msgpack.hpp"), 0U);
  EXPECT_EQ(count("gossip/wire/wire.h", "msgpack.hpp"), 1U);
  EXPECT_EQ(count("crdt/rows/codec.cc", "msgpack/pack.hpp"), 1U);
  EXPECT_EQ(count("gossip/edge/zmq_transport.cc", "zmq.hpp"), 0U);
  EXPECT_EQ(count("agent/node/node.cc", "zmq.h"), 1U);
  EXPECT_EQ(count("crdt/edge/lmdb_store.cc", "lmdb.h"), 0U);
  EXPECT_EQ(count("crdt/edge/storage_thread.cc", "lmdb.h"), 1U);
  EXPECT_EQ(count("cli/edge/config_file.cc", "toml++/toml.h"), 0U);
  EXPECT_EQ(count("cli/kit/agent_settings.cc", "toml++/toml.h"), 1U);
}

TEST(Rules, ARoomKnowsThoseBelowIt) {
  const auto count = [](const std::string& path, const std::string& header) {
    return check_floors({path, "#include \"" + header + "\"\n"}).size();
  };
  EXPECT_EQ(count("crdt/rows/a.cc", "gossip/wire/wire.h"), 0U);
  EXPECT_EQ(count("crdt/store/a.cc", "gossip/base/ids.h"), 0U) << "two floors below";
  EXPECT_EQ(count("gossip/wire/a.cc", "crdt/disk/write_batch.h"), 1U);
  EXPECT_EQ(count("gossip/wire/a.cc", "gossip/spread/overlay.h"), 1U);
  EXPECT_EQ(count("membership/a.cc", "scheduler/protocol/job.h"), 1U);
  EXPECT_EQ(count("scheduler/raft/a.cc", "scheduler/state/state.h"), 1U);
  EXPECT_EQ(count("scheduler/placement/a.cc", "scheduler/policy/order.h"), 1U);
  EXPECT_EQ(count("scheduler/policy/a.cc", "scheduler/why/explain.h"), 1U);
  EXPECT_EQ(count("agent/gang/a.cc", "scheduler/leader/scheduler.h"), 1U);
  EXPECT_EQ(count("agent/front/a.cc", "scheduler/seat/quorum_seat.h"), 1U);
  EXPECT_EQ(count("agent/node/node.cc", "scheduler/seat/quorum_seat.h"), 0U);
  EXPECT_EQ(count("cli/verbs/a.cc", "agent/front/read_model.h"), 1U);
  EXPECT_EQ(count("cli/verbs/a.cc", "agent/api/request.h"), 0U);
  EXPECT_EQ(count("tests/a.cc", "agent/edge/run/event_loop.h"), 0U);
}

TEST(Rules, VerbsAreListedInOneTable) {
  const auto count = [](const std::string& path, const std::string& line) {
    return check_verb_lists({path, line + "\n"}).size();
  };
  EXPECT_EQ(count("agent/node/a.cc", "if (request.verb == Verb::kCancel) {"), 1U);
  EXPECT_EQ(count("agent/front/a.cc", "    case Verb::kCancel:"), 1U);
  EXPECT_EQ(count("cli/kit/a.cc", "return verb != agent::Verb::kShow;"), 1U);
  EXPECT_EQ(count("cli/verbs/a.cc", "request.verb = agent::Verb::kCancel;"), 0U);
  EXPECT_EQ(count("agent/node/a.cc", "    {Verb::kCancel, cancel},"), 0U) << "a checked table";
  EXPECT_EQ(count("tests/agent/node/a.cc", "if (verb == Verb::kCancel) {"), 0U);
}

TEST(Rules, OnlyAnEdgeKnowsAnEdge) {
  const auto count = [](const std::string& path, const std::string& header) {
    return check_floors({path, "#include \"" + header + "\"\n"}).size();
  };
  EXPECT_EQ(count("agent/node/node.cc", "gossip/edge/zmq_transport.h"), 1U);
  EXPECT_EQ(count("cli/kit/a.cc", "cli/edge/config_file.h"), 1U);
  EXPECT_EQ(count("agent/edge/run/event_loop.cc", "gossip/edge/zmq_transport.h"), 0U);
  EXPECT_EQ(count("agent/edge/run/event_loop.cc", "cli/verbs/verb.h"), 1U);
}

TEST(Rules, ASourceStandsInARoom) {
  EXPECT_EQ(check_floors({"agent/a.cc", ""}).size(), 1U);
  EXPECT_EQ(check_floors({"scheduler/attic/a.cc", ""}).size(), 1U);
  EXPECT_EQ(check_mirror({"tests/agent/node/a_test.cc", "tests/sim/a.cc"}).size(), 0U);
  EXPECT_EQ(check_mirror({"tests/agent/a_test.cc"}).size(), 1U);
}

TEST(Rules, ARoomIsWrittenDown) {
  const std::set<std::string> paths = {"crdt/rows/row.h"};
  EXPECT_EQ(check_readmes(paths, {}).size(), 1U);
  EXPECT_EQ(check_readmes(paths, {{"crdt/README.md", "`rows/`: rows"}}).size(), 0U);
  EXPECT_EQ(check_readmes(paths, {{"crdt/rows/README.md", "rows"}}).size(), 0U);
  std::set<std::string> many;
  for (int i = 0; i < 17; ++i) {
    many.insert("crdt/rows/a" + std::to_string(i) + ".h");
  }
  EXPECT_EQ(check_readmes(many, {{"crdt/rows/README.md", "rows"}}).size(), 1U);
  EXPECT_EQ(check_readmes(many, {{"crdt/rows/README.md", "More than 16 nouns: why"}}).size(), 0U);
}

TEST(Rules, PureFilesAreKeptPure) {
  const auto count = [](const std::string& path, const std::string& text) {
    return check_purity({path, text}).size();
  };
  EXPECT_EQ(count("membership/a.cc", "#include <thread>\n"), 1U);
  EXPECT_EQ(count("membership/a.cc", "#include <sys/socket.h>\n"), 1U);
  EXPECT_EQ(count("scheduler/raft/a.h", "auto t = std::chrono::steady_clock::now();\n"), 1U);
  EXPECT_EQ(count("crdt/rows/a.h", "std::unordered_map<int, int> m;\n"), 1U);
  EXPECT_EQ(count("crdt/rows/a.h", "// never an unordered_map here\n"), 0U);
  EXPECT_EQ(count("crdt/edge/storage_thread.cc", "#include <thread>\n"), 0U);
  EXPECT_EQ(count("cli/verbs/a.cc", "#include <iostream>\n"), 1U);
  EXPECT_EQ(count("gossip/base/check.cc", "#include <cstdio>\n"), 0U);
  EXPECT_EQ(count("gossip/base/event.cc", "#include <cstdio>\n"), 1U);
  EXPECT_EQ(count("tests/a.cc", "#include <thread>\n"), 0U);
}

TEST(Rules, ASourceBeginsWithItsOwnHeader) {
  const auto found = [](const std::string& path, const std::string& text) {
    return check_own_header({path, text}, {"crdt/a.h", "tests/a.h", "scheduler/raft/raft.h"})
        .size();
  };
  EXPECT_EQ(found("crdt/a.cc", "// Why.\n\n#include \"crdt/a.h\"\n#include <map>\n"), 0U);
  EXPECT_EQ(found("crdt/a.cc", "#include \"crdt/a.h\"\n"), 0U);
  EXPECT_EQ(found("crdt/a.cc", "#include <map>\n#include \"crdt/a.h\"\n"), 1U);
  EXPECT_EQ(found("crdt/a.cc", "int x;\n"), 1U);
  EXPECT_EQ(found("crdt/b.cc", "#include <map>\n"), 1U) << "no header at all";
  EXPECT_EQ(found("cli/verbs/submit.cc", "#include <map>\n"), 0U) << "a verb";
  EXPECT_EQ(found("tests/a.cc", "#include <map>\n#include \"tests/a.h\"\n"), 1U);
  EXPECT_EQ(found("tests/b_test.cc", "#include <map>\n"), 0U);
  EXPECT_EQ(found("scheduler/raft/raft_states.cc",
                  "#include <map>\n#include \"scheduler/raft/raft.h\"\n"),
            1U)
      << "a part of a class";
}

TEST(Rules, FoldersThatProgramsFillAreNotLookedInto) {
  char made[] = "/tmp/muster_files_below_XXXXXX";
  ASSERT_NE(mkdtemp(made), nullptr);
  const fs::path folder = made;
  for (const char* name : {"a", "a/b.c", "a/.cache", "a/__pycache__", "venv", "node_modules/c"}) {
    fs::create_directories(folder / name);
    std::ofstream(folder / name / "d.h") << "";
  }
  std::vector<std::string> files = files_below(folder, folder);
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, (std::vector<std::string>{"a/b.c/d.h", "a/d.h"}));
  EXPECT_TRUE(files_below(folder / "none", folder).empty());
  fs::remove_all(folder);
}

TEST(Repository, ClassesKeepTheLimitsOrTheirNumbers) {
  const std::vector<SourceFile> files = sources();
  Violations found = check_named_classes(files);
  for (const SourceFile& file : files) {
    const Violations more = check_classes(file);
    found.insert(found.end(), more.begin(), more.end());
  }
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Repository, EveryMachineIsAssertedToBeOne) {
  const Violations found = check_machines(sources());
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Repository, EverySourceBeginsWithItsOwnHeader) {
  const std::vector<SourceFile> files = sources();
  const std::set<std::string> paths = paths_of(files);
  Violations found = check_slices(paths);
  for (const SourceFile& file : files) {
    const Violations more = check_own_header(file, paths);
    found.insert(found.end(), more.begin(), more.end());
  }
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Repository, EverySourceFileKeepsTheRules) {
  const std::vector<SourceFile> files = sources();
  ASSERT_GT(files.size(), 20U) << "no sources below " << root();
  for (const SourceFile& file : files) {
    const Violations found = check_all(file);
    EXPECT_TRUE(found.empty()) << joined(found);
  }
}

TEST(Repository, EveryHeaderBeginsWithItsGuardAndItsManual) {
  for (const SourceFile& file : sources()) {
    if (file.path.ends_with(".h")) {
      EXPECT_TRUE(file.text.starts_with("#pragma once\n//")) << file.path;
    }
  }
}

TEST(Repository, EveryRoomIsWrittenDown) {
  const std::map<std::string, std::string> readmes = all_readmes();
  for (const auto& [path, text] : readmes) {
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kReadmeLinesMax) << path;
  }
  for (const char* folder : kSourceFolders) {
    EXPECT_TRUE(readmes.contains(std::string(folder) + "/README.md")) << folder;
  }
  const std::set<std::string> paths = paths_of(sources());
  const Violations found = check_readmes(paths, readmes);
  EXPECT_TRUE(found.empty()) << joined(found);
}

TEST(Repository, AReadmeNamesWhatIsThere) {
  const std::set<std::string> paths = all_paths();
  for (const auto& [path, text] : all_readmes()) {
    const Violations found = check_readme({path, text}, paths);
    EXPECT_TRUE(found.empty()) << joined(found);
  }
}

TEST(Repository, WordsNameTheirSubject) {
  const std::vector<SourceFile> files = all_prose();
  const Violations found = check_words_left(files);
  EXPECT_TRUE(found.empty()) << joined(found) << "\n\nAs the rows of words_left.h would be now:\n"
                             << rows_of_words(files);
}

TEST(Repository, TestsStandWhereTheirRoomStands) {
  const Violations found = check_mirror(paths_of(sources()));
  EXPECT_TRUE(found.empty()) << joined(found);
}

}  // namespace
}  // namespace muster::repository
