// Settings of an agent: where they come from, which one wins, and what is refused.

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "cli/edge/config_file.h"
#include "cli/kit/agent_settings.h"
#include "tests/cli/kit/fake_world.h"

namespace muster::cli {
namespace {

/// A config file for the length of a test.
class ConfigFile {
 public:
  ConfigFile(FakeWorld& world, const std::string& text)
      : path_(testing::TempDir() + "muster_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml") {
    std::ofstream(path_) << text;
    world.files.insert(path_);
  }
  ~ConfigFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Agent, DefaultsAreSafe) {
  FakeWorld world;
  EXPECT_EQ(world.run({"agent"}), 0) << world.err();
  const AgentOptions& options = world.agents_run.at(0);
  EXPECT_EQ(options.listen.text(), "127.0.0.1:7450");
  EXPECT_TRUE(options.seeds.empty());
  EXPECT_EQ(options.data_dir, "/home/ann/.local/state/muster");
  EXPECT_EQ(options.gpus, "");
  EXPECT_EQ(options.name, "h1");
  EXPECT_EQ(options.ticket_path, "");
  EXPECT_EQ(options.log_level, "info");
  EXPECT_EQ(options.log_file, "");
  EXPECT_EQ(options.output_keep, std::chrono::hours(14 * 24));
  EXPECT_EQ(options.output_max, std::uint64_t{4} << 30);
  EXPECT_EQ(options.config_path, "");
}

TEST(Agent, TakesEveryFlag) {
  FakeWorld world;
  EXPECT_EQ(world.run({"agent", "--listen", "10.0.0.1:0", "--seeds", "a:1, b", "--data-dir", "/d",
                       "--gpus", "sim:8xH100", "--name", "n", "--rack", "r", "--ticket", "/t",
                       "--log-json", "--log-level", "debug"}),
            0)
      << world.err();
  const AgentOptions& options = world.agents_run.at(0);
  EXPECT_EQ(options.listen.text(), "10.0.0.1:0");
  EXPECT_EQ(options.seeds, (std::vector<std::string>{"a:1", "b"}));
  EXPECT_EQ(options.data_dir, "/d");
  EXPECT_EQ(options.gpus, "sim:8xH100");
  EXPECT_EQ(options.name, "n");
  EXPECT_EQ(options.traits.rack, "r");
  EXPECT_EQ(options.ticket_path, "/t");
  EXPECT_TRUE(options.log_json);
  EXPECT_EQ(options.log_level, "debug");
}

TEST(Agent, WhatIsKeptIsSetByDaysAndBytes) {
  FakeWorld world;
  const ConfigFile file(
      world,
      "output_keep = '3d'\noutput_max = '512M'\nlog_file = '/l'\nsocket_group = 'ai'\n"
      "audit_file = '/a'\n");
  EXPECT_EQ(world.run({"agent", "--config", file.path()}), 0) << world.err();
  EXPECT_EQ(world.agents_run.at(0).output_keep, std::chrono::hours(72));
  EXPECT_EQ(world.agents_run.at(0).output_max, std::uint64_t{512} << 20);
  EXPECT_EQ(world.agents_run.at(0).log_file, "/l");
  EXPECT_EQ(world.agents_run.at(0).users.socket_group, "ai");
  EXPECT_EQ(world.agents_run.at(0).users.audit_file, "/a");
  for (const char* wrong : {"5", "0", "1s", "many"}) {
    FakeWorld other;
    EXPECT_EQ(other.run({"agent", "--output-keep", wrong}), 2) << wrong;
    EXPECT_NE(other.err().find("--output-keep: '" + std::string(wrong) + "' is"), std::string::npos)
        << other.err();
  }
  FakeWorld size;
  EXPECT_EQ(size.run({"agent", "--output-max", "4 parsecs"}), 2);
}

TEST(Agent, ItsUserIsSharedOnlyIfASettingSaysSo) {
  FakeWorld usual;
  EXPECT_EQ(usual.run({"agent"}), 0) << usual.err();
  EXPECT_EQ(usual.agents_run.at(0).users, UserSettings());
  FakeWorld world;
  const ConfigFile file(world, "shared_user = true\nsystem_users_may_run = ['backup', 'www']\n");
  EXPECT_EQ(world.run({"agent", "--config", file.path()}), 0) << world.err();
  EXPECT_EQ(world.agents_run.at(0).users, (UserSettings{true, {"backup", "www"}, ""}));
  FakeWorld named;
  named.environment["MUSTER_SHARED_USER"] = "1";
  EXPECT_EQ(named.run({"agent"}), 0) << named.err();
  EXPECT_TRUE(named.agents_run.at(0).users.is_shared);
  FakeWorld wrong;
  wrong.environment["MUSTER_SHARED_USER"] = "yes";
  EXPECT_EQ(wrong.run({"agent"}), 2);
  EXPECT_NE(wrong.err().find("MUSTER_SHARED_USER: 'yes' is neither true nor false"),
            std::string::npos)
      << wrong.err();
}

TEST(Agent, ItOffersNothingWithoutTheIsolationThatASettingNames) {
  FakeWorld world;
  const ConfigFile file(world, "min_isolation = 'devices, mounts'\n");
  EXPECT_EQ(world.run({"agent", "--config", file.path()}), 0) << world.err();
  EXPECT_EQ(world.agents_run.at(0).users.min_isolation,
            (std::vector<std::string>{"devices", "mounts"}));
  FakeWorld wrong;
  wrong.environment["MUSTER_MIN_ISOLATION"] = "devices,gpu";
  EXPECT_EQ(wrong.run({"agent"}), 2);
  EXPECT_NE(wrong.err().find("MUSTER_MIN_ISOLATION: 'devices,gpu' names 'gpu', which is not an "
                             "ability: write memory, cpu, pids, devices or mounts"),
            std::string::npos)
      << wrong.err();
}

TEST(Agent, HttpsIsBesideTheControlPortUnlessASettingSaysElse) {
  FakeWorld usual;
  EXPECT_EQ(usual.run({"agent", "--listen", "10.0.0.1:9000"}), 0) << usual.err();
  const WebSettings& by_itself = usual.agents_run.at(0).web;
  ASSERT_TRUE(by_itself.https.has_value());
  EXPECT_EQ(by_itself.https->text(), "10.0.0.1:7449");
  EXPECT_FALSE(by_itself.is_asked_for);
  EXPECT_EQ(by_itself.certificate + by_itself.key, "");
  FakeWorld off;
  off.environment["MUSTER_HTTPS"] = "off";
  EXPECT_EQ(off.run({"agent"}), 0) << off.err();
  EXPECT_FALSE(off.agents_run.at(0).web.https.has_value());
  FakeWorld world;
  const ConfigFile file(world, "https = '[::1]'\nhttps_cert = '/c'\nhttps_key = '/k'\n");
  EXPECT_EQ(world.run({"agent", "--config", file.path()}), 0) << world.err();
  const WebSettings& said = world.agents_run.at(0).web;
  ASSERT_TRUE(said.https.has_value());
  EXPECT_EQ(said.https->text(), "[::1]:7449");
  EXPECT_TRUE(said.is_asked_for);
  EXPECT_EQ(said.certificate, "/c");
  EXPECT_EQ(said.key, "/k");
}

TEST(Agent, RefusesHttpsThatCannotBe) {
  struct Case {
    std::map<std::string, std::string> environment;
    std::string complaint;
  };
  const std::vector<Case> cases = {
      {{{"MUSTER_HTTPS", "node1:7449"}}, "MUSTER_HTTPS: 'node1:7449' is neither off nor IP[:PORT]"},
      {{{"MUSTER_HTTPS", "127.0.0.1:7450"}}, "has a port of `listen`, which takes 7450"},
      {{{"MUSTER_HTTPS", "127.0.0.1:7451"}}, "name another port"},
      {{{"MUSTER_HTTPS_CERT", "/c"}},
       "MUSTER_HTTPS_CERT: '/c' stands alone: name the file of its key, too, as https_key"},
      {{{"MUSTER_HTTPS_KEY", "/k"}, {"MUSTER_HTTPS", "off"}},
       "MUSTER_HTTPS_KEY: '/k' stands alone: name the file of its certificate"},
  };
  for (const Case& tried : cases) {
    FakeWorld world;
    world.environment.insert(tried.environment.begin(), tried.environment.end());
    EXPECT_EQ(world.run({"agent"}), 2) << tried.complaint;
    EXPECT_NE(world.err().find(tried.complaint), std::string::npos) << world.err();
  }
}

TEST(Agent, AFlagBeatsTheEnvironmentBeatsTheFile) {
  FakeWorld world;
  const ConfigFile file(world,
                        "name = 'f'\nrack = 'f'\ngpus = 'f'\nticket = '/t'\n"
                        "seeds = ['a:1', 'b:2']\nlog_json = true\n");
  world.environment["MUSTER_NAME"] = "e";
  world.environment["MUSTER_RACK"] = "e";
  world.environment["MUSTER_CONFIG"] = file.path();
  EXPECT_EQ(world.run({"agent", "--name", "c"}), 0) << world.err();
  const AgentOptions& options = world.agents_run.at(0);
  EXPECT_EQ(options.name, "c");
  EXPECT_EQ(options.traits.rack, "e");
  EXPECT_EQ(options.gpus, "f");
  EXPECT_EQ(options.ticket_path, "/t");
  EXPECT_EQ(options.seeds, (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_TRUE(options.log_json);
  EXPECT_EQ(options.config_path, file.path());
}

TEST(Agent, ListensWhereOthersCanDialIt) {
  FakeWorld open;
  EXPECT_EQ(open.run({"agent", "--listen", "10.1.2.3:7450"}), 0) << open.err();
  for (const char* address : {"0.0.0.0", "0.0.0.0:7450", "[::]:7450"}) {
    FakeWorld world;
    EXPECT_EQ(world.run({"agent", "--listen", address}), 2);
    EXPECT_NE(world.err().find("is not an address that other hosts can reach"), std::string::npos)
        << world.err();
    EXPECT_TRUE(world.agents_run.empty());
  }
}

TEST(Agent, LeavesAPortForBulk) {
  FakeWorld last;
  EXPECT_EQ(last.run({"agent", "--listen", "10.1.2.3:65534"}), 0) << last.err();
  FakeWorld none;
  EXPECT_EQ(none.run({"agent", "--listen", "10.1.2.3:65535"}), 2);
  EXPECT_NE(none.err().find("leaves no port for bulk"), std::string::npos) << none.err();
}

TEST(Agent, AMoveIsTheOperatorsWordAndNoSetting) {
  FakeWorld silent;
  EXPECT_EQ(silent.run({"agent"}), 0);
  EXPECT_FALSE(silent.agents_run.at(0).is_moved);
  FakeWorld told;
  EXPECT_EQ(told.run({"agent", "--moved"}), 0) << told.err();
  EXPECT_TRUE(told.agents_run.at(0).is_moved);
}

TEST(Agent, SaysWhichSettingsWaitForItsNextStart) {
  const auto options = [](const std::vector<std::string>& flags) {
    FakeWorld world;
    std::vector<std::string> args = {"agent"};
    args.insert(args.end(), flags.begin(), flags.end());
    EXPECT_EQ(world.run(args), 0) << world.err();
    return world.agents_run.at(0);
  };
  const AgentOptions before = options({});
  EXPECT_TRUE(settings_of_start(before, options({"--log-level", "debug", "--output-max", "1G",
                                                 "--output-keep", "2d"}))
                  .empty());
  AgentOptions with_web = before;
  with_web.web = {std::nullopt, true, "/c", "/k"};
  EXPECT_EQ(settings_of_start(before, with_web),
            (std::vector<std::string>{"https", "https_cert", "https_key"}));
  EXPECT_EQ(settings_of_start(before, options({"--rack", "r", "--log-file", "/l", "--listen",
                                               "10.0.0.1", "--label", "fast"})),
            (std::vector<std::string>{"listen", "rack", "labels", "log_file", "https"}));
}

TEST(Agent, RefusesWrongSettingsAndSaysWhereTheyCameFrom) {
  struct Case {
    std::vector<std::string> args;
    std::map<std::string, std::string> environment;
    std::string complaint;
  };
  const std::vector<Case> cases = {
      {{"agent", "--listen", "localhost"}, {}, "--listen: 'localhost' is not IP[:PORT]"},
      {{"agent"}, {{"MUSTER_LOG_LEVEL", "loud"}}, "MUSTER_LOG_LEVEL: 'loud' is not one of"},
      {{"agent"}, {{"MUSTER_LOG_JSON", "maybe"}}, "MUSTER_LOG_JSON: 'maybe' is neither"},
      {{"agent", "--name", ""}, {}, "--name: '' is not a valid name"},
      {{"agent", "--config", "/nowhere/muster.toml"}, {}, "/nowhere/muster.toml cannot be read"},
      {{"agent", "extra"}, {}, "extra"},
  };
  for (const Case& tried : cases) {
    FakeWorld world;
    world.environment.insert(tried.environment.begin(), tried.environment.end());
    EXPECT_EQ(world.run(tried.args), 2) << tried.complaint;
    EXPECT_NE(world.err().find(tried.complaint), std::string::npos) << world.err();
  }
}

TEST(ConfigFile, AnUnknownSettingIsNamedTogetherWithTheKnownOnes) {
  const auto settings = parse_config("name = 'a'\nlisten_on = 'b'\n", "m.toml", {"listen", "name"});
  ASSERT_FALSE(settings.has_value());
  EXPECT_EQ(settings.error().text,
            "m.toml:2: unknown setting 'listen_on'; the settings are: listen, name");
}

TEST(ConfigFile, MalformedOnesNameTheLine) {
  const auto settings = parse_config("name = 'a'\nlisten = \n", "m.toml", {"listen", "name"});
  ASSERT_FALSE(settings.has_value());
  EXPECT_EQ(settings.error().text.rfind("m.toml:2: ", 0), 0U) << settings.error().text;
  EXPECT_FALSE(parse_config("name = 1.5", "m.toml", {"name"}).has_value());
  EXPECT_FALSE(parse_config("name = [1]", "m.toml", {"name"}).has_value());
  EXPECT_FALSE(parse_config("[name]\na = 1", "m.toml", {"name"}).has_value());
}

}  // namespace
}  // namespace muster::cli
