#pragma once
// Event is a fact that a machine reports. Machines do not log: the edge logs events, golden scripts
// print them, checkers read them. An event has a static name and ordered fields. Values are text,
// because readers compare and print them and never compute with them.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

enum class Severity { kDebug, kInfo, kWarn, kAlarm };

struct Event {
  Severity severity = Severity::kInfo;
  std::string_view name;  ///< Static storage, snake_case: "leader_elected".
  std::vector<std::pair<std::string_view, std::string>> fields;

  /// The value of a field; "" if the event has no field of that name.
  std::string_view field(std::string_view key) const;
  /// `name key=value key=value`: the form of logs and golden scripts.
  std::string text() const;
};

}  // namespace muster
