// The values that people type and read: durations, tables, options, exit codes of wrong arguments.

#include <gtest/gtest.h>

#include <sstream>

#include "cli/kit/duration.h"
#include "cli/kit/options.h"
#include "cli/kit/places.h"
#include "cli/kit/quote.h"
#include "cli/kit/size.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/app.h"
#include "tests/cli/kit/fake_world.h"

namespace muster::cli {
namespace {

using std::chrono::milliseconds;

TEST(Duration, ReadsEveryUnitAndCompounds) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"0", 0},           {"250ms", 250},           {"30s", 30'000},
      {"5m", 300'000},    {"2h", 7'200'000},        {"1h30m", 5'400'000},
      {"1d", 86'400'000}, {"365d", 31'536'000'000}, {"1m500ms", 60'500}};
  for (const auto& [text, ms] : cases) {
    const Result<muster::Duration> parsed = parse_duration(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(to_ms(*parsed), ms) << text;
  }
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text : {"", "5", "s", "-5s", "+5s", "5 s", "5x", "5s5s", "5s1m", "1.5s", "5S",
                           "366d", "99999999999999999999s", "9223372036854775807d", "5s "}) {
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
}

TEST(Duration, IsReadBackAsWritten) {
  for (const std::int64_t ms : {1, 999, 1000, 61'000, 5'400'000, 90'061'001}) {
    const std::string text = format_duration(milliseconds(ms));
    EXPECT_EQ(to_ms(*parse_duration(text)), ms) << text;
  }
}

TEST(Duration, AgesHaveOneUnit) {
  EXPECT_EQ(format_age(0), "0s");
  EXPECT_EQ(format_age(850), "850ms");
  EXPECT_EQ(format_age(12'999), "12s");
  EXPECT_EQ(format_age(7'199'999), "1h");
}

TEST(Duration, WhatHasPassedIsCutToWhatIsSeen) {
  const std::pair<int, const char*> table[] = {
      {-1, "0"},           {0, "0"},          {4, "4ms"},        {999, "999ms"},
      {1000, "1.0s"},      {5004, "5.0s"},    {59'999, "59.9s"}, {60'000, "1m"},
      {125'999, "2m5s"},   {3'600'000, "1h"}, {3'605'000, "1h"}, {11'520'000, "3h12m"},
      {90'061'001, "1d1h"}};
  for (const auto& [ms, text] : table) {
    EXPECT_EQ(format_after(milliseconds(ms)), text) << ms;
  }
}

TEST(Size, IsReadAndWritten) {
  for (const auto& [text, bytes] :
       {std::pair{"17", std::uint64_t{17}}, std::pair{"4G", std::uint64_t{4} << 30},
        std::pair{"4gib", std::uint64_t{0}}, std::pair{"4GiB", std::uint64_t{4} << 30},
        std::pair{"2TB", std::uint64_t{2} << 40}, std::pair{"512m", std::uint64_t{512} << 20}}) {
    const auto parsed = parse_size(text);
    EXPECT_EQ(parsed ? *parsed : 0, bytes) << text;
  }
  for (const char* wrong : {"", "G", "4X", "-1", "4GG", "99999999999T", "1 G"}) {
    EXPECT_FALSE(parse_size(wrong)) << wrong;
  }
  for (const char* text : {"0", "17", "1536M", "4G", "2048T"}) {
    EXPECT_EQ(format_size(*parse_size(text)), text);
  }
}

TEST(Text, MessagesBreakAtBlanksWithinTheirColumns) {
  EXPECT_EQ(in_lines("aaa bbb ccc ddd", 9), "aaa bbb\n  ccc ddd");
  EXPECT_EQ(in_lines("aaaaaaaaaaaa bbb", 5), "aaaaaaaaaaaa\n  bbb");
  EXPECT_EQ(in_lines("", 5), "");
  EXPECT_EQ(in_lines("a  b", 80), "a  b");
  FakeWorld world;
  world.world().terminal.is_err = true;
  world.run({"jobs", "--state", std::string(60, 'x'), "--limit", "1"});
  std::istringstream lines(world.err());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Help, OfAVerbIsTheSameByEitherWord) {
  FakeWorld one;
  FakeWorld other;
  EXPECT_EQ(one.output_of({"help", "quorum", "add"}), other.output_of({"quorum", "add", "--help"}));
  FakeWorld careless;
  FakeWorld careful;
  EXPECT_EQ(careless.output_of({"help", "submit", "--", "sleep", "5"}),
            careful.output_of({"submit", "--help"}));
  EXPECT_TRUE(careless.requests().empty()) << "no job is submitted";
  FakeWorld all;
  FakeWorld plain;
  EXPECT_EQ(all.output_of({"help", "help"}), plain.output_of({"help"}));
}

TEST(Table, IsNeverWiderThanItsLimitAndKeepsNumbersWhole) {
  Table table({{.title = "ID", .is_number = true}, {.title = "NAME"}, {.title = "CAUSE"}});
  table.add({"12345678901234567890", std::string(80, 'n'), std::string(200, 'c')});
  const std::string text = table.text();
  for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1) {
    EXPECT_LE(text.find('\n', start) - start, kScreenColumns);
  }
  EXPECT_NE(text.find("12345678901234567890"), std::string::npos);
  EXPECT_NE(text.find("n~"), std::string::npos);
}

TEST(Table, FitsTheScreenAndIsNeverCutInAPipe) {
  Table table({{.title = "ID", .is_number = true},
               {.title = "NAME", .columns_min = 12},
               {.title = "REASON", .columns_min = 32}});
  table.add({"1", std::string(40, 'n'), std::string(120, 'r')});
  for (const std::size_t columns : {40U, 60U, 80U, 100U, 200U}) {
    for (std::size_t start = 0; start < table.text({columns, false}).size();) {
      const std::string text = table.text({columns, false});
      const std::size_t end = text.find('\n', start);
      EXPECT_LE(end - start, columns);
      start = end + 1;
    }
  }
  EXPECT_EQ(table.text({0, false}).find('~'), std::string::npos);
  EXPECT_EQ(table.text({200, false}).find('~'), std::string::npos) << "it has room";
}

TEST(Table, LeavesColumnsOutBeforeItCutsNames) {
  Table table({{.title = "NAME"},
               {.title = "ID", .left_out = 2},
               {.title = "FREE", .is_number = true},
               {.title = "RACK", .left_out = 1}});
  table.add({"gpu-row-7", "0011aabb", "8", "r1"});
  EXPECT_EQ(table.text(),
            "NAME       ID        FREE  RACK\n"
            "gpu-row-7  0011aabb     8  r1\n");
  EXPECT_EQ(table.text({30, false}),
            "NAME      ID        FREE  RACK\n"
            "gpu-row~  0011aabb     8  r1\n");
  EXPECT_EQ(table.text({22, false}),
            "NAME       FREE  RACK\n"
            "gpu-row-7     8  r1\n");
  EXPECT_EQ(table.text({16, false}),
            "NAME       FREE\n"
            "gpu-row-7     8\n");
  EXPECT_EQ(table.text({10, false}),
            "NAME  FREE\n"
            "gpu~     8\n");
}

TEST(Table, StatesHaveColoursOnATerminal) {
  Table table({{.title = "ID"},
               {.title = "STATE", .columns_min = 10, .is_state = true},
               {.title = "NAME"}});
  table.add({"1", "failed", "failed"});
  table.add({"2", "running?", "x"});
  EXPECT_EQ(table.text({100, true}),
            "ID  STATE     NAME\n1   \x1b[31mfailed\x1b[0m    failed\n2   "
            "\x1b[32mrunning?\x1b[0m  x\n");
  EXPECT_EQ(table.text({100, false}).find('\x1b'), std::string::npos);
}

TEST(Table, CutsBetweenCharactersNotInside) {
  EXPECT_EQ(truncate("\u00e4\u00f6\u00fc\u00df", 4), "\u00e4\u00f6\u00fc\u00df");
  EXPECT_EQ(truncate("\u00e4\u00f6\u00fc\u00df", 3), "\u00e4\u00f6~");
}

TEST(Table, NamesOfOthersCannotSteerTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc\x7f"), "a?[2Jb?c?");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "b"),
            "a?b");
}

TEST(Quote, StaysOnItsLine) {
  EXPECT_EQ(shell_quoted("a\nb"), "$'a\\nb'");
  EXPECT_EQ(shell_quoted("\x1b'\\\t"), "$'\\033\\'\\\\\\t'");
}

TEST(Quote, IsReadBackByAShell) {
  EXPECT_EQ(shell_quoted({"python", "a b", "it's", "", "--x=1"}),
            "python 'a b' 'it'\\''s' '' --x=1");
}

struct WrongArguments {
  std::vector<std::string> args;
  std::string complaint;
};

void expect_refused(const std::vector<WrongArguments>& cases) {
  for (const WrongArguments& wrong : cases) {
    FakeWorld world;
    EXPECT_EQ(world.run(wrong.args), 2) << wrong.complaint;
    EXPECT_NE(world.err().find(wrong.complaint), std::string::npos) << world.err();
    const std::string error = world.err();
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
    EXPECT_EQ(world.out(), "");
    EXPECT_TRUE(world.requests().empty());
  }
}

TEST(Arguments, WrongOnesExitWith2AndSayWhatIsWrong) {
  expect_refused({
      {{"job"}, "'job' is not a verb"},
      {{"jobs", "--state", "runing"}, "'runing' is not a job state"},
      {{"jobs", "--stat", "running"}, "--stat"},
      {{"show"}, "no job given"},
      {{"show", "seventeen"}, "'seventeen' is not a job: write 100, or 100-120 for a range"},
      {{"show", "20-10"}, "'20-10' ends before it begins"},
      {{"cancel", "7", "--yess"}, "there is no option --yess"},
      {{"priority", "7", "99999999999999999999"}, "is too large a number"},
      {{"jobs", "-o", "id,colour"}, "'colour' is not a column; the columns are: id, name"},
      {{"jobs", "--sort", "id,name"}, "one column"},
      {{"events", "--job", "7", "-f"}, "--job works only with"},
      {{"usage", "--by", "rack"}, "neither user, type nor name"},
      {{"logs", "1", "--rank", "-1"}, "neither a rank's number"},
      {{"submit", "--gpus", "2", "python", "x.py"}, "unexpected argument: python x.py; put --"},
      {{"submit", "--gpus"}, "--gpus needs a value"},
      {{"hosts", "--timeout", "5"}, "'5' is not a duration"},
  });
}

TEST(Arguments, WrongOnesOfASubmitSayWhatIsWrong) {
  expect_refused({
      {{"submit"}, "no command"},
      {{"submit", "--"}, "no command"},
      {{"submit", "python", "x.py"}, "put -- before the command"},
      {{"submit", "--gpus", "0", "--", "x"}, "--gpus 0 needs --ranks N"},
      {{"submit", "--gpus", "010x", "--", "x"}, "'010x' is not a number of GPUs: write 16, or 2x8"},
      {{"submit", "--gpus", "0x8", "--", "x"}, "'0x8' has no GPUs"},
      {{"submit", "--gpus", "4096x4096", "--", "x"}, "is more than 4096 GPUs"},
      {{"submit", "--gpus", "99999999999999999999", "--", "x"}, "is not a number of GPUs"},
      {{"submit", "--gpus", "3", "--ranks", "2", "--", "x"}, "with GPUs there is one rank each"},
      {{"submit", "--gpus", "3", "--ranks-per-host", "1", "--", "x"},
       "--ranks-per-host needs the number of hosts"},
      {{"submit", "--gpus", "0", "--ranks", "3", "--ranks-per-host", "2", "--", "x"},
       "3 ranks are not a multiple of 2"},
      {{"submit", "--cpus", "1.2345", "--", "x"},
       "is not a number of CPUs: write 12, 0.5 or 12/gpu"},
      {{"submit", "--gpus", "0", "--ranks", "2", "--cpus", "2/gpu", "--", "x"}, "leave out /gpu"},
      {{"submit", "--mem", "5k", "--", "x"}, "is less than 1M"},
      {{"submit", "--mem", "lots", "--", "x"}, "is not a size"},
      {{"submit", "--mem", "64", "--", "x"}, "'64' has no unit: write 64G, or 64M"},
      {{"submit", "--mem", "64/gpu", "--", "x"}, "has no unit: write 64G/gpu, or 64M/gpu"},
      {{"submit", "--time", "2:00:00", "--", "x"},
       "there is no option --time: write --time-limit 2h"},
      {{"submit", "-N4", "-n", "32", "--", "x"},
       "there is no option -N: hosts and GPUs on each are one word: --gpus 4x8"},
      {{"submit", "--dependency=afterok:7", "--", "x"}, "write --after ok:7 for afterok:7"},
      {{"submit", "-p", "gpu", "x.sh"}, "write --queue PATH, as `muster queue` lists"},
      {{"submit", "--hold", "--array", "0-3", "--", "x"}, "an array cannot be held"},
      {{"jobs", "-j", "7"}, "give only the numbers"},
      {{"submit", "--host", "a b", "--", "x"},
       "'a b' is not a valid name for a host: letters, digits"},
      {{"submit", "--host", "10.0.0.7", "--", "x"}, "it is an address"},
      {{"submit", "--gpu-type", "H 100", "--", "x"}, "is not a valid name for a GPU type"},
      {{"submit", "--label", "a=b=c", "--", "x"}, "'a=b=c' is not a label"},
      {{"submit", "--require", "memory,network", "--", "x"},
       "'network' is not an ability: write memory, cpu, pids, devices or mounts"},
      {{"submit", "--host", "a,,b", "--", "x"}, "has an empty or very long name in it"},
      {{"submit", "--pack", "room", "--", "x"}, "write island, host, rack, spine or any"},
      {{"submit", "--pack", "rack@soon", "--", "x"}, "'soon' is not a duration"},
      {{"submit", "--pack", "any@5m", "--", "x"}, "has no closeness to wait for"},
      {{"submit", "--gpus", "2x4", "--pack", "host", "--", "x"}, "one host was asked for"},
      {{"submit", "--env", "EPOCHS", "--", "x"}, "EPOCHS is not set here"},
      {{"submit", "--env", "=3", "--", "x"}, "is neither NAME nor NAME=VALUE"},
      {{"submit", "--env-all", "--env-none", "--", "x"}, "choose one"},
      {{"submit", "--key", "xyz", "--", "x"}, "is not 32 digits"},
      {{"submit", "--isolation", "0", "--", "x"}, "would kill the ranks at once"},
      {{"submit", "--isolation", "forever", "--", "x"}, "or keep"},
      {{"submit", "--isolation", "9s", "--", "x"}, "at least 10s"},
      {{"hosts", "--timeout", "0s"}, "--timeout: '0s' is too short: at least 1ms"},
      {{"sumbit"}, "did you mean submit? (muster --help)"},
      {{"hots"}, "did you mean hosts?"},
      {{"banana"}, "'banana' is not a verb; `muster --help` lists them"},
      {{"submit", "--on-lost-host", "cry", "--", "x"}, "neither requeue nor wait"},
      {{"submit", "--priority", "3000000000", "--", "x"}, "does not fit"},
      {{"submit", "--name", std::string(256, 'n'), "--", "x"}, "at most 255 bytes"},
      {{"submit", "--cwd", "/" + std::string(4095, 'd'), "--", "x"}, "longer than 4095 bytes"},
      {{"submit", "--", std::string(65'536, 'x')}, "put them into a file"},
  });
}

TEST(Arguments, ErrorsAreJsonOnStdoutWhenAskedFor) {
  FakeWorld world;
  EXPECT_EQ(world.run({"show", "x", "--json"}), 2);
  EXPECT_EQ(world.out(),
            "{\"error\":\"JOB: 'x' is not a job: write 100, or 100-120 for a range (muster show "
            "--help)\",\"exit_code\":2,\"retry_after_ms\":null}\n");
}

TEST(Arguments, EveryVerbHasHelpWithAnExample) {
  for (const char* verb :
       {"agent", "submit", "jobs", "show", "why", "logs", "cancel", "suspend", "resume", "requeue",
        "priority", "usage", "hosts", "quorum", "events", "leave", "version"}) {
    FakeWorld world;
    const std::string help = world.output_of({verb, "--help"});
    EXPECT_NE(help.find("Usage: muster " + std::string(verb)), std::string::npos);
    EXPECT_NE(help.find("Example:\n  muster " + std::string(verb)), std::string::npos);
  }
}

TEST(Arguments, HelpOfJobs) {
  FakeWorld world;
  EXPECT_EQ(world.output_of({"jobs", "--help"}),
            R"(List your jobs and the running jobs of others.

Usage: muster jobs [JOB...] [OPTIONS]

  JOB                         Jobs to list: 7, 100-120, or tasks of an array, 7.12 or 7.0-99
  --name GLOB                 Select jobs by name; * matches any text, ? any character
  -u, --user USER             Select jobs of this user
  --state STATE[,STATE...]    Select jobs in these states: queued, scheduled, running, stopping,
                              suspended, completed, failed, cancelled
  --host NAME                 Select jobs on this host
  --since DURATION            Select jobs submitted within this time, as 12h or 7d
  -a, --all                   Include jobs of all users and all ended jobs
  -t, --tasks                 List array tasks that have started or are next, one line each
  --sort COLUMN               Sort by this column; -COLUMN reverses the order (default id)
  -o, --columns COLUMN[,COLUMN...]
                              Show these columns (default
                              id,name,user,state,gpus,hosts,age,time,reason, and queue if some job
                              is in another queue than default); more columns: cause, attempt,
                              priority, tier, type, submit, start, end, exit, gpuhours, nhosts
  --limit N                   Show at most N jobs: the newest, or with --sort the first; 0 shows all
                              but older ended jobs (default 0)
  --no-header                 Omit the header line, for scripts
  -w, --watch                 Refresh every 2 s until interrupted
  --consistent                Read from the leader, confirmed by a majority, not from any voter's
                              copy

Common options:
  --node NAME|PATH,...        Ask this host, or the agent at this socket or data directory; try a
                              list in order (MUSTER_NODE)
  --data-dir DIR              Ask the agent with this data directory (MUSTER_DATA_DIR)
  --access-file FILE          Show the access token in this file, which only you can read (or in
                              MUSTER_ACCESS)
  --timeout DURATION          Give up after this long without an answer (default 10s)
  --json                      Print JSON; `muster man json` explains its fields
  -v, --verbose               Print more details on stderr
  -h, --help                  Print this help

Answered by: any voter, from its own copy of the cluster's state.
Allowed on: hosts that may vouch.

Example:
  muster jobs --state queued,running --sort -gpus
)");
}

TEST(Arguments, OptionsOfAllVerbsComeLastInTwoLinesEach) {
  for (const std::size_t columns : {80U, 100U}) {
    FakeWorld world;
    world.world().terminal.screen.columns = columns;
    const std::string help = world.output_of({"jobs", "--help"});
    std::istringstream all(help);
    for (std::string line; std::getline(all, line);) {
      EXPECT_LE(line.size(), columns) << line;
    }
    const std::size_t start = help.find("\nCommon options:\n");
    ASSERT_NE(start, std::string::npos) << help;
    std::istringstream common(help.substr(start + 1, help.find("\n\n", start + 1) - start));
    std::string names;
    std::size_t more = 0;
    for (std::string line; std::getline(common, line);) {
      more = line.starts_with("   ") ? more + 1 : 0;
      EXPECT_LE(more, 1U) << line;
      names += line.starts_with("  -") ? line.substr(2, line.find(' ', 2) - 2) + " " : "";
    }
    EXPECT_EQ(names, "--node --data-dir --access-file --timeout --json -v, -h, ");
  }
}

TEST(Arguments, TheOverviewHasTheExitCodes) {
  FakeWorld world;
  world.world().terminal.screen.columns = 80;
  const std::string help = world.output_of({"--help"});
  for (const char* line :
       {"  0       ok\n", "  1       failed\n", "  2       usage", "  3       impossible",
        "  4       denied\n", "  5       no quorum: surely not accepted\n", "  6       not found\n",
        "  7       conflict", "  75      outcome unknown",
        "  124     the job's time limit passed\n", "  128+n   ended by signal n\n"}) {
    EXPECT_NE(help.find(line), std::string::npos) << line;
  }
}

TEST(Arguments, TheOverviewIsOneScreenOfGroups) {
  for (const std::size_t columns : {80U, 100U}) {
    FakeWorld world;
    world.world().terminal.screen.columns = columns;
    const std::string help = world.output_of({"--help"});
    std::istringstream lines(help);
    std::size_t count = 0;
    std::string headings;
    for (std::string line; std::getline(lines, line); ++count) {
      EXPECT_LE(line.size(), columns) << line;
      headings += line.ends_with(":") ? line + " " : "";
    }
    EXPECT_EQ(headings, "Jobs: Hosts: Users: Cluster: This agent: Help: Exit codes: ");
    if (columns == 100) {
      EXPECT_LE(count, 60U);
    }
    for (const ExitCode& code : exit_codes()) {
      EXPECT_NE(help.find("  " + std::string(code.number) + " "), std::string::npos);
      EXPECT_NE(help.find(" " + std::string(code.meaning)), std::string::npos);
    }
  }
}

TEST(Arguments, NoVerbShowsTheOverview) {
  FakeWorld world;
  EXPECT_EQ(world.run({}), 2);
  EXPECT_NE(world.err().find("Usage: muster VERB"), std::string::npos);
}

TEST(Places, ANamedNodeBeatsADirectoryBeatsTheEnvironment) {
  struct Case {
    std::string node;
    std::string data_dir;
    std::map<std::string, std::string> environment;
    std::set<std::string> files;
    std::vector<NodePlace> places;
  };
  const std::vector<Case> cases = {
      {"/n/agent.sock", "/d", {}, {}, {{"ipc:///n/agent.sock", ""}}},
      {"", "/d", {{"MUSTER_NODE", "/n"}}, {}, {{"ipc:///d/agent.sock", ""}}},
      {"",
       "",
       {{"MUSTER_NODE", "/n"}, {"MUSTER_DATA_DIR", "/d"}},
       {},
       {{"ipc:///n/agent.sock", ""}}},
      {"", "", {{"MUSTER_DATA_DIR", "/d"}}, {}, {{"ipc:///d/agent.sock", ""}}},
      {"", "", {}, {"/var/lib/muster/agent.sock"}, {{"ipc:///var/lib/muster/agent.sock", ""}}},
      {"", "", {{"XDG_STATE_HOME", "/s"}}, {}, {{"ipc:///s/muster/agent.sock", ""}}},
      {"", "", {}, {}, {{"ipc:///home/ann/.local/state/muster/agent.sock", ""}}},
      {"", "", {}, {"/var/lib"}, {{"ipc:///var/lib/muster/agent.sock", ""}}},
      {"", "", {}, {"/run/muster/agent.sock"}, {{"ipc:///run/muster/agent.sock", ""}}},
      {"",
       "",
       {{"XDG_RUNTIME_DIR", "/x"}},
       {"/x/muster/agent.sock"},
       {{"ipc:///x/muster/agent.sock", ""}}},
      {"",
       "",
       {{"MUSTER_RUNTIME_DIR", "/x"}},
       {"/x/agent.sock", "/var/lib/muster/agent.sock"},
       {{"ipc:///x/agent.sock", ""}}},
      // Paths.
      {"ipc:///n/x.sock,./m/,/n",
       "",
       {},
       {},
       {{"ipc:///n/x.sock", ""}, {"ipc://./m/agent.sock", ""}, {"ipc:///n/agent.sock", ""}}},
      // Names, through the agent that is asked without them.
      {"b", "/d", {{"MUSTER_NODE", "/n"}}, {}, {{"ipc:///d/agent.sock", "b"}}},
      {"b",
       "",
       {{"MUSTER_NODE", "/n"}, {"MUSTER_DATA_DIR", "/d"}},
       {},
       {{"ipc:///n/agent.sock", "b"}}},
      {"b",
       "",
       {{"MUSTER_NODE", "10.0.0.1:7450"}, {"MUSTER_DATA_DIR", "/d"}},
       {},
       {{"ipc:///d/agent.sock", "b"}}},
      {"",
       "",
       {{"MUSTER_NODE", "b,rack1.gpu7"}, {"MUSTER_DATA_DIR", "/d"}},
       {},
       {{"ipc:///d/agent.sock", "b"}, {"ipc:///d/agent.sock", "rack1.gpu7"}}},
      {"b,/n", "", {}, {}, {{"ipc:///n/agent.sock", "b"}, {"ipc:///n/agent.sock", ""}}},
  };
  for (const Case& tried : cases) {
    FakeWorld world;
    world.files = tried.files;
    world.environment.insert(tried.environment.begin(), tried.environment.end());
    const auto places = node_places(world.world(), tried.node, tried.data_dir);
    ASSERT_TRUE(places.has_value()) << tried.node;
    EXPECT_EQ(*places, tried.places) << tried.node;
  }
}

TEST(Places, AnAddressIsNone) {
  FakeWorld world;
  world.environment["MUSTER_NODE"] = "127.0.0.1:7450";
  EXPECT_EQ(world.run({"hosts"}), 2);
  EXPECT_EQ(
      world.err(),
      "muster: '127.0.0.1:7450' is an address, and the ports of hosts answer only hosts: use "
      "--node NAME to ask that host through the agent here, or --node PATH for an agent here by "
      "its socket or data directory; from a machine without an agent: ssh HOST muster ...\n");
  EXPECT_EQ(world.run({"agent"}), 0) << "which asks nobody";
}

TEST(Places, TheOneThatFailedIsNamed) {
  FakeWorld world;
  world.refuses_connections();
  EXPECT_EQ(world.run({"hosts", "--node", "/d"}), 1);
  EXPECT_EQ(world.err(), "muster: no agent answers at ipc:///d/agent.sock\n");
}

}  // namespace
}  // namespace muster::cli
