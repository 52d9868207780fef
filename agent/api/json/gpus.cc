#include "agent/api/json/gpus.h"

#include <algorithm>

#include "agent/api/json/dump.h"

namespace muster::agent {
namespace {

Json job_or_null(JobId job) {
  return job == JobId() ? Json(nullptr) : is_task(job) ? Json(text_of(job)) : Json(job.value());
}

Json reading_or_null(std::int64_t value) {
  return value == kNotRead ? Json(nullptr) : Json(value);
}

Json processes_of(const GpuOnBoard& gpu) {
  Json processes = Json::array();
  for (const GpuProcessInfo& process : gpu.processes) {
    processes.push_back(
        {{"pid", process.pid}, {"used_bytes", reading_or_null(process.used_bytes)}});
  }
  return processes;
}

/// The same keys if the host was not asked, or does not know the GPU.
void add_board(Json& json, const GpuOnBoard& gpu) {
  json["model"] = text_or_null(gpu.name);
  json["health"] = text_or_null(gpu.health);
  json["health_why"] = text_or_null(gpu.why);
  json["health_since_ms"] = number_or_null(gpu.since_ms);
  json["evidence"] = gpu.evidence;
  json["use_percent"] = reading_or_null(gpu.use_percent);
  json["gpu_memory_used_bytes"] = reading_or_null(gpu.memory_used_bytes);
  json["gpu_memory_bytes"] = reading_or_null(gpu.memory_bytes);
  json["celsius"] = reading_or_null(gpu.celsius);
  json["milliwatts"] = reading_or_null(gpu.milliwatts);
  json["throttle"] = gpu.throttle;
  json["processes"] = processes_of(gpu);
  json["processes_left_out"] = gpu.processes_left_out;
}

}  // namespace

std::string to_json(const GpuList& list, const std::optional<GpuBoard>& board,
                    const Response& answer) {
  Json gpus = Json::array();
  for (const ListedGpu& gpu : list.gpus) {
    Json json = {{"host", gpu.host_name},
                 {"host_id", gpu.host.hex()},
                 {"gpu_index", gpu.index},
                 {"uuid", gpu.uuid},
                 {"gpu_type", text_or_null(gpu.gpu_type)},
                 {"state", gpu.state},
                 {"job_id", job_or_null(gpu.job)},
                 {"user", text_or_null(gpu.user)},
                 {"token", gpu.token.is_none() ? Json(nullptr) : Json(gpu.token.text())},
                 {"since_ms", number_or_null(gpu.since_ms)},
                 {"why", text_or_null(gpu.why)},
                 {"by", text_or_null(gpu.by)}};
    const GpuOnBoard* known = nullptr;
    if (board.has_value()) {
      const auto found =
          std::find_if(board->gpus.begin(), board->gpus.end(),
                       [&](const GpuOnBoard& each) { return each.uuid == gpu.uuid; });
      known = found == board->gpus.end() ? nullptr : &*found;
    }
    add_board(json, known == nullptr ? GpuOnBoard() : *known);
    gpus.push_back(std::move(json));
  }
  return dump_answer({{"gpu_list", gpus},
                      {"driver", board.has_value() ? text_or_null(board->driver) : Json(nullptr)}},
                     answer);
}

std::string gpu_ordered_json(std::string_view done, const std::string& uuid,
                             const std::string& host_name, HostId host) {
  return dump({{std::string(done), uuid}, {"host", host_name}, {"host_id", host.hex()}});
}

}  // namespace muster::agent
