#include "cli/verbs/storm_banner.h"

#include "cli/kit/duration.h"
#include "cli/kit/text.h"

namespace muster::cli {

std::string storm_banner(const agent::StormInfo& storm) {
  struct Row {
    const char* mode;
    const char* what;
    const char* meaning;
  };
  static const Row kRows[] = {
      {"domain", "one rack is silent", "Its gangs are recovered as usual."},
      {"partial", "many hosts are silent at once",
       "Gangs that lost a host are recovered slowly, 2 a second."},
      {"partition_suspected", "the network may be cut",
       "No host is evicted for silence until a minute after the last sign of the storm."},
  };
  for (const Row& row : kRows) {
    if (storm.mode == row.mode) {
      return "! " + storm.mode + " for " + format_age(storm.since_ms) + ": " + row.what + " (" +
             storm.reason + ").\n! " + row.meaning + "\n";
    }
  }
  return "";
}

std::string seeds_banner(const std::vector<agent::SeedInfo>& seeds) {
  std::string text;
  for (const agent::SeedInfo& seed : seeds) {
    text +=
        "! seed " + printable(seed.address) + " does not answer: " + printable(seed.silence) + "\n";
  }
  return text;
}

}  // namespace muster::cli
