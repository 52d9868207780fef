#pragma once
// The --json of orders about jobs, of errors and of output: one document per line, by the rules
// of view.h.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api/jobs.h"
#include "gossip/base/ids.h"

namespace muster::agent {

/// `retry_after_ms`: when the refused request may be taken; nullopt = not known, printed as null.
std::string error_json(const std::string& text, int exit_code,
                       std::optional<std::uint64_t> retry_after_ms = std::nullopt);
std::string submitted_json(JobId job, const std::string& key);
/// The last line of `submit --wait`.
std::string ended_json(const JobSummary& job, const std::string& key, int exit_code);

struct JobOutcome {
  JobId job;
  int exit_code = 0;
  std::string error;                              ///< "" if it was done.
  std::optional<std::uint64_t> retry_after_ms{};  ///< As of error_json().
};
/// `done` is the key of the list of jobs that it was done to: "cancelled".
std::string to_json(std::string_view done, const std::vector<JobOutcome>& outcomes);
std::string priority_json(JobId job, std::int64_t priority);
/// Of `edit`: the job, and what the order changed of it.
std::string edited_json(const EditArgs& edit);

struct OutputPiece {
  JobId job;
  std::uint64_t attempt = 0;
  std::uint64_t rank = 0;
  std::uint64_t offset = 0;  ///< The offset of the first byte in the rank's whole output.
  std::string text;
  std::string stream;         ///< "" = not known; printed as null.
  std::uint64_t unix_ms = 0;  ///< By the clock of the rank's host; 0 = not known; printed as null.
  bool ended = false;
};
/// One line of `logs`.
std::string to_json(const OutputPiece& piece);

}  // namespace muster::agent
