#pragma once
// The timeline of one run of a scenario, in either world: the acts of the driver and the events of
// hosts, in order. Time 0 is the moment when the whole cluster was there. Hosts are named hN in it
// and jobs as in the scenario, so that runs can be compared.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::sim::scenario {

struct Told {
  static constexpr std::int32_t kDriver = -1;
  Duration at{0};
  std::int32_t host = kDriver;
  /// Of hosts the names of events. Of the driver: "act" (line), "up" and "down" (host),
  /// and first of all "whole": each of those that are up sees the others alive.
  std::string name;
  std::map<std::string, std::string> fields;
  bool is_warning = false;  ///< Warn and above.

  std::string_view field(std::string_view key) const;
};

using Timeline = std::vector<Told>;

std::string host_name(std::uint32_t host);
/// One JSON object a line: {"t": seconds, "host": 3, "name": ..., "level": "warn", "fields": {}}.
std::string to_lines(const Timeline& timeline);
Result<Timeline> from_lines(std::string_view text);

}  // namespace muster::sim::scenario
