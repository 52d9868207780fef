#include "cli/kit/json_orders.h"

#include <nlohmann/json.hpp>

#include "cli/kit/text.h"
#include "gossip/base/name.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A number; of a task "7.12".
Json view(JobId job) {
  return is_task(job) ? Json(text_of(job)) : Json(job.value());
}

}  // namespace

std::string error_json(const std::string& text, int exit_code) {
  return dump({{"error", text}, {"exit_code", exit_code}});
}

std::string submitted_json(JobId job, const std::string& key) {
  return dump({{"job", view(job)}, {"key", key}});
}

std::string ended_json(const agent::JobSummary& job, const std::string& key, int exit_code) {
  return dump({{"job", view(job.id)},
               {"key", key},
               {"state", job.state},
               {"cause", job.cause},
               {"exit_code", exit_code}});
}

std::string to_json(std::string_view done, const std::vector<JobOutcome>& outcomes) {
  Json jobs = Json::array();
  Json errors = Json::array();
  for (const JobOutcome& outcome : outcomes) {
    if (outcome.exit_code == 0) {
      jobs.push_back(view(outcome.job));
    } else {
      errors.push_back(
          {{"job", view(outcome.job)}, {"error", outcome.error}, {"exit_code", outcome.exit_code}});
    }
  }
  return dump({{std::string(done), jobs}, {"errors", errors}});
}

std::string priority_json(JobId job, std::int64_t priority) {
  return dump({{"job", view(job)}, {"priority", priority}});
}

std::string to_json(const OutputPiece& piece) {
  return dump({{"job", view(piece.job)},
               {"attempt", piece.attempt},
               {"rank", piece.rank},
               {"offset", piece.offset},
               {"text", piece.text},
               {"base64", is_utf8(piece.text) ? Json() : Json(base64(piece.text))},
               {"stream", piece.stream.empty() ? Json() : Json(piece.stream)},
               {"unix_ms", piece.unix_ms == 0 ? Json() : Json(piece.unix_ms)},
               {"ended", piece.ended}});
}

}  // namespace muster::cli
