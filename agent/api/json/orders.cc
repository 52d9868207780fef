#include "agent/api/json/orders.h"

#include <nlohmann/json.hpp>

#include "agent/api/json/bytes_text.h"
#include "gossip/base/name.h"

namespace muster::agent {
namespace {

using Json = nlohmann::ordered_json;

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A number; of a task "7.12".
Json job_number(JobId job) {
  return is_task(job) ? Json(text_of(job)) : Json(job.value());
}

Json wait_of(std::optional<std::uint64_t> ms) {
  return ms.has_value() ? Json(*ms) : Json();
}

}  // namespace

std::string error_json(const std::string& text, int exit_code,
                       std::optional<std::uint64_t> retry_after_ms) {
  return json_text(
      {{"error", text}, {"exit_code", exit_code}, {"retry_after_ms", wait_of(retry_after_ms)}});
}

std::string submitted_json(JobId job, const std::string& key) {
  return json_text({{"job_id", job_number(job)}, {"key", key}});
}

std::string ended_json(const JobSummary& job, const std::string& key, int exit_code) {
  return json_text({{"job_id", job_number(job.id)},
                    {"key", key},
                    {"state", job.state},
                    {"cause", job.cause.empty() ? Json() : Json(job.cause)},
                    {"exit_code", exit_code}});
}

std::string to_json(std::string_view done, const std::vector<JobOutcome>& outcomes) {
  Json jobs = Json::array();
  Json errors = Json::array();
  for (const JobOutcome& outcome : outcomes) {
    if (outcome.exit_code == 0) {
      jobs.push_back(job_number(outcome.job));
    } else {
      errors.push_back({{"job_id", job_number(outcome.job)},
                        {"error", outcome.error},
                        {"exit_code", outcome.exit_code},
                        {"retry_after_ms", wait_of(outcome.retry_after_ms)}});
    }
  }
  return json_text({{std::string(done) + "_jobs", jobs}, {"errors", errors}});
}

std::string priority_json(JobId job, std::int64_t priority) {
  return json_text({{"job_id", job_number(job)}, {"priority", priority}});
}

std::string edited_json(const EditArgs& edit) {
  Json json = {{"job_id", job_number(edit.job)}};
  if (!edit.queue.empty()) {
    json["queue"] = edit.queue;
  }
  if (edit.tier != scheduler::Tier::kNone) {
    json["tier"] = scheduler::text_of(edit.tier);
  }
  if (edit.has_no_limit) {
    json["time_limit_ms"] = nullptr;
  } else if (edit.time_limit_ms != 0 && edit.adds_time) {
    json["time_limit_added_ms"] = edit.time_limit_ms;
  } else if (edit.time_limit_ms != 0) {
    json["time_limit_ms"] = edit.time_limit_ms;
  }
  if (edit.begin_ms != kKeepsTime) {
    json["begin_in_ms"] = edit.begin_ms == 0 ? Json() : Json(edit.begin_ms);
  }
  if (edit.deadline_ms != kKeepsTime) {
    json["deadline_in_ms"] = edit.deadline_ms == 0 ? Json() : Json(edit.deadline_ms);
  }
  if (!edit.keeps_priority) {
    json["priority"] = edit.priority;
  }
  return json_text(json);
}

std::string to_json(const OutputPiece& piece) {
  return json_text({{"job_id", job_number(piece.job)},
                    {"attempt", piece.attempt},
                    {"rank", piece.rank},
                    {"offset_bytes", piece.offset},
                    {"text", piece.text},
                    {"base64", is_utf8(piece.text) ? Json() : Json(base64(piece.text))},
                    {"stream", piece.stream.empty() ? Json() : Json(piece.stream)},
                    {"unix_ms", piece.unix_ms == 0 ? Json() : Json(piece.unix_ms)},
                    {"is_ended", piece.ended}});
}

}  // namespace muster::agent
