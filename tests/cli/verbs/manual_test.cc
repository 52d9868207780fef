// Pages of the manual: every field of --json and every key of muster.toml is on one, and nothing
// else; a terminal shows a page as text.

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "agent/api/json/fields.h"
#include "cli/kit/agent_settings.h"
#include "cli/kit/setting_words.h"
#include "cli/verbs/app.h"
#include "cli/verbs/manual_text.h"
#include "cli/verbs/terms.h"
#include "tests/cli/kit/fake_world.h"

namespace muster::cli {
namespace {

std::set<std::string> keys_in(const std::string& path) {
  std::ifstream file(path);
  const std::string source{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_FALSE(source.empty()) << path;
  static const std::regex kKey(R"x((?:\{|json\[|fields\[)\s*"([a-z][a-z0-9_]*)"(?:,|\]))x");
  std::set<std::string> keys;
  for (auto at = std::sregex_iterator(source.begin(), source.end(), kKey);
       at != std::sregex_iterator(); ++at) {
    keys.insert((*at)[1]);
  }
  return keys;
}

TEST(Manual, HasEveryFieldOfJsonAndNoOther) {
  std::set<std::string> printed = keys_in("agent/api/json/view.cc");
  printed.merge(keys_in("agent/api/json/enrolment.cc"));
  printed.merge(keys_in("agent/api/json/audit.cc"));
  printed.merge(keys_in("agent/api/json/users.cc"));
  printed.merge(keys_in("agent/api/json/gpus.cc"));
  printed.merge(keys_in("agent/api/json/http_root.cc"));
  printed.merge(keys_in("agent/api/json/queues.cc"));
  printed.merge(keys_in("agent/api/json/dump.h"));
  printed.merge(keys_in("agent/api/json/orders.cc"));
  // The names by which verbs call their effects.
  printed.insert({"suspended_jobs", "resumed_jobs", "requeued_jobs", "cancelled_jobs", "added",
                  "removed", "leads", "changed", "drained", "undrained", "revoked", "masked",
                  "unmasked"});
  std::set<std::string> told;
  for (const agent::JsonField& field : agent::json_fields()) {
    EXPECT_TRUE(told.insert(std::string(field.name)).second) << field.name << " stands twice";
    EXPECT_FALSE(field.type.empty() || field.meaning.empty()) << field.name;
  }
  for (const std::string& key : printed) {
    EXPECT_TRUE(told.contains(key)) << "agent/api/json/fields.cc says nothing of " << key;
  }
  for (const std::string& name : told) {
    EXPECT_TRUE(printed.contains(name)) << "nothing prints " << name;
  }
}

/// "grace_ms" ends with "ms"; a name of a moment has "unix" in front of it.
TEST(Manual, UnitsOfJsonStandLast) {
  const std::map<std::string_view, std::string_view> endings = {
      {"ms", "_ms"},
      {"ms since 1970", "unix_ms"},
      {"us", "_us"},
      {"bytes", "bytes"},
      {"MiB", "_mib"},
      {"thousandths of a CPU", "_thousandths"},
      {"string", ""},
      {"strings", ""},
      {"integer", ""},
      {"integers", ""},
      {"boolean", ""},
      {"object", ""},
      {"objects", ""},
      {"integer or string", ""},
      {"integers or strings", ""},
      {"strings or objects", ""}};
  for (const agent::JsonField& field : agent::json_fields()) {
    const auto ending = endings.find(field.type);
    ASSERT_NE(ending, endings.end()) << field.name << " is of type " << field.type;
    EXPECT_TRUE(field.name.ends_with(ending->second)) << field.name;
  }
}

TEST(Manual, TheGuideHasTheTableOfJsonFields) {
  std::ifstream file("GUIDE.md");
  const std::string guide{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::string table;
  for (const agent::JsonField& field : agent::json_fields()) {
    const std::string meaning =
        std::regex_replace(std::string(field.meaning), std::regex(R"(\|)"), R"(\|)");
    table += "| `" + std::string(field.name) + "` | " + std::string(field.type) + " | " + meaning +
             " |\n";
  }
  EXPECT_TRUE(guide.ends_with("|--|--|--|\n" + table)) << "GUIDE.md should end with:\n" << table;
}

TEST(Manual, JsonAndConfigArePages) {
  FakeWorld json;
  EXPECT_NE(json.output_of({"man", "json"}).find("\\fBgpu_ms\\fR\nms: GPU time"),
            std::string::npos);
  FakeWorld config;
  const std::string page = config.output_of({"man", "config"});
  EXPECT_NE(page.find("output_keep = \"14d\""), std::string::npos) << page;
  FakeWorld list;
  EXPECT_NE(list.output_of({"man", "--list"}).find("muster-json\nmuster-config\nmuster-terms\n"),
            std::string::npos);
}

TEST(Manual, TermsAreFewAndShortAndNeedNoAgent) {
  EXPECT_LE(terms().size(), 25U);
  for (const std::size_t columns : {80U, 100U}) {
    FakeWorld world;
    world.world().terminal.screen.columns = columns;
    const std::string text = world.output_of({"help", "terms"});
    EXPECT_TRUE(world.requests().empty());
    std::istringstream lines(text);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      EXPECT_LE(line.size(), columns) << line;
    }
    EXPECT_LE(count, columns == 100 ? terms().size() : 2 * terms().size()) << text;
    for (const Term& term : terms()) {
      EXPECT_NE(text.find("  " + std::string(term.word) + "  "), std::string::npos) << term.word;
    }
  }
  FakeWorld help;
  EXPECT_NE(help.output_of({"help", "terms", "--help"}).find("Usage: muster help terms"),
            std::string::npos);
  FakeWorld page;
  EXPECT_NE(page.output_of({"man", "terms"}).find("\\fBmembership list\\fR\n"), std::string::npos);
  FakeWorld guess;
  EXPECT_EQ(guess.run({"glossary"}), 2);
  EXPECT_NE(guess.err().find("did you mean help terms?"), std::string::npos) << guess.err();
}

TEST(Manual, EveryKeyOfTheConfigurationHasWords) {
  std::vector<std::string> names;
  for (const SettingWords& words : setting_words()) {
    names.emplace_back(words.name);
  }
  EXPECT_EQ(names, agent_setting_names());
}

AgentOptions options_with(const Settings& settings) {
  FakeWorld world;
  const Result<AgentOptions> options = agent_options(world.world(), settings, "");
  EXPECT_TRUE(options.has_value()) << (options ? "" : options.error().text);
  return options ? *options : AgentOptions();
}

TEST(Manual, DefaultsOfTheConfigurationAreTheDefaults) {
  const AgentOptions usual = options_with({});
  for (const SettingWords& words : setting_words()) {
    std::string value(words.value);
    std::erase(value, '"');
    if (!words.is_default) {
      continue;
    }
    const AgentOptions given = options_with({{std::string(words.name), value}});
    EXPECT_EQ(given.listen, usual.listen) << words.name;
    EXPECT_EQ(given.log_json, usual.log_json) << words.name;
    EXPECT_EQ(given.log_level, usual.log_level) << words.name;
    EXPECT_EQ(given.output_keep, usual.output_keep) << words.name;
    EXPECT_EQ(given.output_max, usual.output_max) << words.name;
    EXPECT_EQ(given.users, usual.users) << words.name;
  }
}

TEST(Manual, TheSampleIsReadWhenItsKeysAreNotCommentedOut) {
  FakeWorld world;
  const std::string sample = world.output_of({"man", "--sample"});
  const std::string path = testing::TempDir() + "sample.toml";
  std::ofstream file(path);
  for (std::size_t start = 0; start < sample.size();) {
    const std::size_t end = sample.find('\n', start);
    const std::string line = sample.substr(start, end - start);
    EXPECT_LE(line.size(), 80U) << line;
    file << (line.starts_with("#") && !line.starts_with("# ") ? line.substr(1) : line) << "\n";
    start = end + 1;
  }
  file.close();
  const Result<AgentOptions> options = agent_options(world.world(), {}, path);
  ASSERT_TRUE(options.has_value()) << options.error().text;
  EXPECT_EQ(options->name, "gpu7");
  EXPECT_EQ(options->traits.labels, (std::vector<std::string>{"disk=nvme", "fast"}));
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// Imperative or a noun, without the turns of phrase that readers of other help stumble over.
void expect_plain(const std::string& where, const std::string& text) {
  static const std::regex kUnclear(R"((^|[.:;] )(Who|Whose|Whoever|What|Nothing|Those|So) )"
                                   R"(|\b(anew|whoever|is none|as one|one's)\b)");
  EXPECT_FALSE(std::regex_search(text, kUnclear)) << where << ": " << text;
  EXPECT_LE(count_of(text, "(default"), 1U) << where << " has two defaults: " << text;
  EXPECT_TRUE(!text.empty() && std::isupper(static_cast<unsigned char>(text[0])) != 0)
      << where << ": " << text;
}

TEST(Manual, EveryLineOfTheHelpIsReadOnce) {
  for (const VerbWords& verb : verb_words()) {
    expect_plain(verb.name, verb.purpose);
    EXPECT_LE(verb.purpose.size(), 81U) << verb.name << " does not fit its line of the overview";
    EXPECT_TRUE(verb.answered_by.empty() || verb.answered_by.starts_with("Answered by: "))
        << verb.name;
    for (const HelpEntry& entry : verb.entries) {
      expect_plain(verb.name + " " + entry.head, entry.help);
    }
  }
}

TEST(Manual, ATerminalShowsText) {
  FakeWorld world;
  std::string paged;
  world.world().terminal.page = [&paged](const std::string& text) {
    paged = text;
    return true;
  };
  world.world().terminal.screen = {60, false};
  EXPECT_EQ(world.output_of({"man", "why"}), "");
  EXPECT_TRUE(paged.starts_with("NAME\n       muster-why - Explain what a job waits for")) << paged;
  EXPECT_EQ(paged.find('\\'), std::string::npos) << paged;
  EXPECT_NE(paged.find("              Ask this host, or the agent at this socket or\n"
                       "              data directory; try a list in order\n"),
            std::string::npos)
      << paged;
  EXPECT_EQ(paged.find("\n."), std::string::npos) << paged;
  FakeWorld pipe;
  EXPECT_TRUE(pipe.output_of({"man", "why"}).starts_with(".TH ")) << "for man -l -";
}

}  // namespace
}  // namespace muster::cli
