// muster_scenario: reads, plays and judges scenario files. scenarios/run speaks to people and calls
// it; it can be called by hand, too.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include <CLI/CLI.hpp>

#include "tests/sim/scenario/json_text.h"
#include "tests/sim/scenario/judge.h"
#include "tests/sim/scenario/parser.h"
#include "tests/sim/scenario/player.h"

namespace muster::sim::scenario {
namespace {

constexpr int kUsage = 2;
constexpr Duration kApart = std::chrono::seconds(2);

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int complain(const std::string& text) {
  std::cerr << text << "\n";
  return kUsage;
}

int report(const Judgement& judgement, const std::string& path,
           const std::vector<Violation>& violations) {
  for (const Figure& figure : judgement.figures) {
    std::printf("figure %s %.3f s\n", figure.name.c_str(), figure.seconds);
  }
  for (const Finding& finding : judgement.broken) {
    std::printf("%s:%d: broken: %s\n", path.c_str(), finding.line, finding.text.c_str());
  }
  for (const Violation& violation : violations) {
    std::printf("violation %s: %s\n", violation.checker.c_str(), violation.text.c_str());
  }
  return judgement.broken.empty() && violations.empty() ? 0 : 1;
}

struct Arguments {
  std::string file;
  std::string other;  ///< A timeline.
  std::string against;
  std::string out;
  std::string ids;
  std::uint32_t hosts = 0;
  std::uint64_t seed = 1;
  bool trace = false;
  bool outcome = false;
};

std::vector<HostId> ids_of(const std::string& path) {
  std::vector<HostId> ids;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
      bytes.push_back(static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16)));
    }
    ids.push_back(HostId::from_bytes(bytes));
  }
  return ids;
}

void print(const Outcome& outcome) {
  for (const auto& [what, at] : outcome) {
    std::printf("outcome %8.3f %s\n", static_cast<double>(at.count()) / 1e9, what.c_str());
  }
}

int play_file(const Scenario& scenario, const Arguments& arguments) {
  if (const std::string lacking = what_is_lacking(scenario, PlayedOn::kSimulated);
      !lacking.empty()) {
    return complain(lacking);
  }
  PlayOptions options;
  options.seed = arguments.seed;
  options.trace = arguments.trace;
  if (!arguments.ids.empty()) {
    options.ids = ids_of(arguments.ids);
  }
  const Played played = play(scenario, options);
  if (!arguments.out.empty()) {
    std::ofstream(arguments.out, std::ios::binary) << to_lines(played.timeline);
  }
  const Judgement judgement = judge(scenario, played.timeline);
  const int code = report(judgement, scenario.path, played.violations);
  if (arguments.outcome || code != 0) {
    print(judgement.outcome);
  }
  std::printf("%s seed=%llu hosts=%u hash=%016llx: %s\n", scenario.path.c_str(),
              static_cast<unsigned long long>(arguments.seed), scenario.hosts,
              static_cast<unsigned long long>(played.hash), code == 0 ? "kept" : "BROKEN");
  return code;
}

int judge_file(const Scenario& scenario, const Arguments& arguments) {
  const Result<Timeline> timeline = from_lines(read_file(arguments.other));
  if (!timeline.has_value()) {
    return complain(arguments.other + ": " + timeline.error().text);
  }
  const Judgement judgement = judge(scenario, *timeline);
  int code = report(judgement, scenario.path, {});
  if (!arguments.against.empty()) {
    const Result<Timeline> against = from_lines(read_file(arguments.against));
    if (!against.has_value()) {
      return complain(arguments.against + ": " + against.error().text);
    }
    const std::vector<std::string> found =
        differences(judgement.outcome, judge(scenario, *against).outcome, kApart);
    for (const std::string& line : found) {
      std::printf("differs: %s\n", line.c_str());
    }
    std::printf("figure both_worlds_differ %zu lines\n", found.size());
    code = found.empty() ? code : 1;
  } else if (arguments.outcome || code != 0) {
    print(judgement.outcome);
  }
  return code;
}

int run(int argc, char** argv) {
  CLI::App app("Scenarios: what happens to a cluster, and what must follow.");
  app.require_subcommand(1);
  Arguments arguments;
  const auto with_file = [&](CLI::App* verb) {
    verb->add_option("file", arguments.file, "a .scenario file")->required();
    verb->add_option("--hosts", arguments.hosts, "so many, whatever the file says");
    return verb;
  };
  CLI::App* verbs = app.add_subcommand("verbs", "the table of verbs, as JSON");
  CLI::App* show = with_file(app.add_subcommand("print", "the file, as JSON"));
  show->add_flag("--real", arguments.trace, "refuse verbs that real agents lack");
  CLI::App* play = with_file(app.add_subcommand("play", "on simulated hosts"));
  play->add_option("--seed", arguments.seed, "of everything that is random");
  play->add_option("--ids", arguments.ids, "a file with the host ids, in hex, a line each");
  play->add_option("--timeline", arguments.out, "write what happened there");
  play->add_flag("--trace", arguments.trace, "print every event as it happens");
  play->add_flag("--outcome", arguments.outcome, "print what came of it");
  CLI::App* judge = with_file(app.add_subcommand("judge", "a timeline"));
  judge->add_option("timeline", arguments.other, "what happened")->required();
  judge->add_option("--against", arguments.against, "another timeline of the same file");
  judge->add_flag("--outcome", arguments.outcome, "print what came of it");
  CLI11_PARSE(app, argc, argv);
  if (verbs->parsed()) {
    std::cout << verbs_as_json() << "\n";
    return 0;
  }
  const std::string text = read_file(arguments.file);
  if (text.empty()) {
    return complain(arguments.file + ": cannot be read, or is empty");
  }
  const Result<Scenario> scenario = parse(arguments.file, text, arguments.hosts);
  if (!scenario.has_value()) {
    return complain(scenario.error().text);
  }
  if (show->parsed()) {
    const std::string lacking =
        arguments.trace ? what_is_lacking(*scenario, PlayedOn::kReal) : std::string();
    std::cout << to_json(*scenario) << "\n";
    return lacking.empty() ? 0 : complain(lacking);
  }
  return play->parsed() ? play_file(*scenario, arguments) : judge_file(*scenario, arguments);
}

}  // namespace
}  // namespace muster::sim::scenario

int main(int argc, char** argv) {
  return muster::sim::scenario::run(argc, argv);
}
