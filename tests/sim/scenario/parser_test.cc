// Scenario files as text: what is understood, and what each mistake is told.

#include "tests/sim/scenario/parser.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/sim/scenario/sets.h"
#include "tests/sim/scenario/verbs.h"

namespace muster::sim::scenario {
namespace {

using std::chrono::seconds;

Scenario read(const std::string& lines) {
  const Result<Scenario> made = parse("f", "hosts 24 gpus 8 racks 4\nlength 100s\n" + lines);
  EXPECT_TRUE(made.has_value()) << lines << ": " << (made ? "" : made.error().text);
  return made ? *made : Scenario();
}

std::vector<std::uint32_t> hosts_of(const std::string& set, const Roles& roles = {}) {
  const Scenario scenario = read("at 1s kill " + set);
  return scenario.acts.empty() ? std::vector<std::uint32_t>()
                               : resolve(scenario.acts[0].who, scenario, roles);
}

TEST(ScenarioSets, NameHostsRacksSharesAndRoles) {
  using Hosts = std::vector<std::uint32_t>;
  EXPECT_EQ(hosts_of("h3"), Hosts{3});
  EXPECT_EQ(hosts_of("h5,h3 and h4"), (Hosts{3, 4, 5}));
  EXPECT_EQ(hosts_of("rack 3"), (Hosts{3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(hosts_of("rack 3 but last 8"), (Hosts{3, 7, 11, 15}));
  EXPECT_EQ(hosts_of("last 10%"), (Hosts{22, 23}));
  EXPECT_EQ(hosts_of("half").size(), 12U);
  EXPECT_EQ(hosts_of("half").back(), 11U);
  EXPECT_EQ(hosts_of("all").size(), 24U);
  EXPECT_EQ(hosts_of("leader", {7, {1, 7}, {}}), Hosts{7});
  EXPECT_EQ(hosts_of("voters but leader", {7, {1, 7}, {}}), Hosts{1});
  EXPECT_EQ(hosts_of("leader", {24, {}, {}}), Hosts{}) << "nobody leads";
}

TEST(ScenarioSets, AGangIsWhereItsJobRuns) {
  using Hosts = std::vector<std::uint32_t>;
  const auto hosts_of = [](const std::string& set, const Roles& roles) {
    const Scenario scenario = read("at 0s submit big 50%\nat 1s kill " + set);
    return resolve(scenario.acts.at(1).who, scenario, roles);
  };
  const Roles roles{0, {}, {{"big", {4, 7, 9}}}};
  EXPECT_EQ(hosts_of("hosts of big", roles), (Hosts{4, 7, 9}));
  EXPECT_EQ(hosts_of("one of big", roles), Hosts{4});
  EXPECT_EQ(hosts_of("one of big", {4, {4, 5}, roles.gangs}), Hosts{7}) << "4 votes";
  EXPECT_EQ(hosts_of("one of big", {4, {4, 7, 9}, roles.gangs}), Hosts{4});
  EXPECT_EQ(hosts_of("hosts of big but one of big", roles), (Hosts{7, 9}));
  EXPECT_EQ(hosts_of("hosts of big", {}), Hosts{}) << "it does not run";
}

TEST(ScenarioSets, RestIsWhoeverIsNotOnTheOtherSide) {
  const Scenario scenario = read("at 1s cut half but h3 from rest but h4");
  const Act& act = scenario.acts.at(0);
  const auto who = resolve(act.who, scenario);
  const auto other = resolve(act.other, scenario, {}, who);
  EXPECT_EQ(who.size(), 11U);
  EXPECT_EQ(other.size(), 13U) << "h3 is with the rest then, h4 was with the first";
  EXPECT_EQ(other.front(), 3U);
}

TEST(ScenarioActs, AreReadAndSortedByTime) {
  const Scenario scenario = read(
      "at 20s cut rack 1 from rest one-way loss 30%\n"
      "at 2s submit big 50% for 2m hold 30s  # a comment\n"
      "at 30s flap h1 from rest every 10s for 60s\n"
      "at 90s heal over 5s\n");
  ASSERT_EQ(scenario.acts.size(), 4U);
  EXPECT_EQ(scenario.acts[0].verb, Verb::kSubmit);
  EXPECT_EQ(scenario.acts[0].number, 96);
  EXPECT_EQ(scenario.acts[0].time, seconds(120));
  EXPECT_EQ(scenario.acts[0].length, seconds(30));
  EXPECT_TRUE(scenario.acts[1].is_one_way);
  EXPECT_EQ(scenario.acts[1].loss, 30U);
  EXPECT_EQ(scenario.acts[2].time, seconds(10));
  EXPECT_EQ(scenario.acts[3].length, seconds(5));
  EXPECT_EQ(scenario.acts[1].line, 3);
}

TEST(ScenarioActs, EveryVerbOfTheTableIsUnderstood) {
  for (const VerbRow& row : verb_table()) {
    std::string line = "at 0s submit j 8\nat 0s " + std::string(row.words);
    switch (row.verb) {
      case Verb::kSubmit:
        line += " k 8";
        break;
      case Verb::kCancel:
        line += " j";
        break;
      case Verb::kHeal:
        break;
      case Verb::kCut:
        line += " h1 from h2";
        break;
      case Verb::kFlap:
        line += " h1 from h2 every 1s for 2s";
        break;
      case Verb::kDelay:
        line += " h1 from h2 5ms";
        break;
      case Verb::kSlowDisk:
        line += " h1 5s";
        break;
      case Verb::kClockJump:
        line += " h1 back 1h";
        break;
      case Verb::kClockRate:
        line += " h1 500 ppm";
        break;
      case Verb::kStart:
      case Verb::kKill:
      case Verb::kRestart:
      case Verb::kFreeze:
      case Verb::kThaw:
      case Verb::kPowerOff:
      case Verb::kPowerOn:
      case Verb::kRing:
      case Verb::kFillDisk:
      case Verb::kFreeDisk:
      case Verb::kLead:
        line += " h1";
        break;
    }
    const Scenario scenario = read(line);
    ASSERT_EQ(scenario.acts.size(), 2U) << row.words;
    EXPECT_EQ(scenario.acts[1].verb, row.verb) << row.words;
    EXPECT_EQ(what_is_lacking(scenario, PlayedOn::kSimulated).empty(), row.not_simulated.empty());
    EXPECT_EQ(what_is_lacking(scenario, PlayedOn::kReal).empty(), row.not_real.empty());
  }
}

TEST(ScenarioActs, TheTableOfTheDocumentIsThatOfTheCode) {
  std::ifstream file(std::string(MUSTER_ROOT) + "/scenarios/LANGUAGE.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  for (const VerbRow& row : verb_table()) {
    const auto world = [](std::string_view why) { return why.empty() ? "yes" : std::string(why); };
    const std::string line = "| `" + std::string(row.words) + "` | " + std::string(row.arguments) +
                             " | " + std::string(row.meaning) + " | " + world(row.not_simulated) +
                             " | " + world(row.not_real) + " |\n";
    EXPECT_NE(document.find(line), std::string::npos) << line;
  }
}

TEST(ScenarioActs, ALackingVerbIsNamedWithItsLine) {
  const Scenario scenario = read("at 1s fill disk h1");
  EXPECT_EQ(what_is_lacking(scenario, PlayedOn::kSimulated),
            "f:3: \"fill disk\" cannot be done in the simulator: its disks have no size");
}

TEST(ScenarioExpectations, AreRead) {
  const Scenario scenario = read(
      "at 1s submit big 8\nat 2s cut half from rest\nat 3s heal\n"
      "within 3s of cut event stepped_down on h0\n"
      "never event storm_mode mode=partial about rack 1 after heal\n"
      "never event job_stopping about big\n"
      "figure mode_s from cut until mode domain on half max 6s\n"
      "figure runs_s from submit big until job big running\n");
  ASSERT_EQ(scenario.expectations.size(), 5U);
  EXPECT_EQ(scenario.expectations[0].limit, seconds(3));
  EXPECT_EQ(scenario.expectations[1].match.fields.at("mode"), "partial");
  EXPECT_EQ(scenario.expectations[1].from.verb, Verb::kHeal);
  EXPECT_EQ(scenario.expectations[2].match.job, "big");
  EXPECT_EQ(scenario.expectations[3].max, seconds(6));
  EXPECT_FALSE(scenario.expectations[4].max.has_value());
}

TEST(ScenarioMistakes, AreToldWithTheirLine) {
  const std::pair<const char*, const char*> rows[] = {
      {"at 1s eat h1", "f:3: there is no verb \"eat\""},
      {"at soon kill h1", "f:3: \"soon\" is no time, as in 10s, 250ms or 2m"},
      {"at 1s kill h24", "f:3: there is no h24: hosts are h0 to h23"},
      {"at 1s kill everybody",
       "f:3: \"everybody\" names no hosts: hN, rack N, half, first N, last N%, all, rest, voters, "
       "leader, hosts of JOB, one of JOB"},
      {"at 1s kill", "f:3: expected hosts behind \"kill\""},
      {"at 1s kill one of big", "f:3: no job \"big\" is submitted above"},
      {"at 1s kill h1 h2", "f:3: \"h2\" is too much here"},
      {"at 1s cut h1", "f:3: expected \"from\" behind \"h1\""},
      {"at 1s cut h1 from h2 loss 30", "f:3: \"30\" is no share, as in 30%"},
      {"at 1s cancel big", "f:3: no job \"big\" is submitted above"},
      {"at 1s kill rack 4", "f:3: \"4\" is no number of a rack (0 to 3)"},
      {"at 2s clock rate h1 5 ppm", "f:3: a clock has its rate from the start on: at 0s"},
      {"within 3s of cut event x", "f:3: there is no such act \"cut\" above"},
      {"never event x on leader", "f:3: roles are for acts; an expectation names hosts"},
      {"always two_heads", "f:3: there is no checker \"two_heads\""},
      {"hosts 3", "f:3: \"hosts\" is said once"},
      {"at 100s heal", "f: \"length\" must be said, and be later than the last act"},
  };
  for (const auto& [line, told] : rows) {
    const auto made = parse("f", std::string("hosts 24 racks 4\nlength 100s\n") + line);
    ASSERT_FALSE(made.has_value()) << line;
    EXPECT_EQ(made.error().text, told);
  }
  EXPECT_FALSE(parse("f", "").has_value());
  EXPECT_FALSE(parse("f", std::string(kFileBytesMax + 1, '#')).has_value());
}

}  // namespace
}  // namespace muster::sim::scenario
