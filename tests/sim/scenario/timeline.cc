#include "tests/sim/scenario/timeline.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace muster::sim::scenario {

std::string_view Told::field(std::string_view key) const {
  const auto found = fields.find(std::string(key));
  return found == fields.end() ? std::string_view() : found->second;
}

std::string host_name(std::uint32_t host) {
  return "h" + std::to_string(host);
}

std::string to_lines(const Timeline& timeline) {
  std::string text;
  for (const Told& told : timeline) {
    nlohmann::json line = {{"t", static_cast<double>(told.at.count()) / 1e9},
                           {"host", told.host},
                           {"name", told.name},
                           {"level", told.is_warning ? "warn" : "info"},
                           {"fields", told.fields}};
    text += line.dump() + "\n";
  }
  return text;
}

Result<Timeline> from_lines(std::string_view text) {
  Timeline timeline;
  std::size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    try {
      const auto line = nlohmann::json::parse(text.substr(begin, end - begin));
      Told told;
      told.at = Duration(std::llround(line.at("t").get<double>() * 1e9));
      told.host = line.at("host").get<std::int32_t>();
      told.name = line.at("name").get<std::string>();
      told.is_warning = line.at("level").get<std::string>() == "warn";
      told.fields = line.at("fields").get<std::map<std::string, std::string>>();
      timeline.push_back(std::move(told));
    } catch (const nlohmann::json::exception& wrong) {
      return Error{ErrorCode::kInvalid,
                   "line " + std::to_string(number) + " of the timeline: " + wrong.what()};
    }
    begin = end + 1;
  }
  std::stable_sort(timeline.begin(), timeline.end(),
                   [](const Told& a, const Told& b) { return a.at < b.at; });
  return timeline;
}

}  // namespace muster::sim::scenario
