#pragma once
// One sample of every format that outlives a process: messages, log entries, rows, records on disk.
// All values are fixed, so the bytes are.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster::compat {

struct Sample {
  std::string name;
  std::string bytes;
  /// Reads bytes of this format and writes them again; nullopt if they do not decode.
  std::function<std::optional<std::string>(const std::string&)> reread;
};

std::vector<Sample> message_samples();
std::vector<Sample> entry_samples();
/// Snapshots of the replicated state.
std::vector<Sample> state_samples();
/// Entries and snapshots with jobs that wait for others, for a time, or for attempts that give way.
std::vector<Sample> wait_samples();
std::vector<Sample> row_samples();
std::vector<Sample> disk_samples();

}  // namespace muster::compat
