// muster gpus: the state of each GPU and its job, as the log has them; for one host also what that
// host reads from its driver now.

#include <algorithm>

#include "agent/api/gpus.h"
#include "agent/api/json/gpus.h"
#include "agent/api/payload.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_name.h"
#include "cli/kit/job_choice.h"
#include "cli/kit/size.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/gpu_list.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

/// A table names so many processes of a GPU; --json names more.
constexpr std::size_t kPidsShownMax = 4;

std::string reading(std::int64_t value, const std::string& unit) {
  return value == agent::kNotRead ? "-" : std::to_string(value) + unit;
}

/// Clears the bytes below a MiB, which would be printed one by one.
constexpr std::uint64_t kWholeMib = ~((std::uint64_t{1} << 20) - 1);

std::string memory_text(const agent::GpuOnBoard& gpu) {
  const auto text = [](std::int64_t bytes) {
    return bytes == agent::kNotRead ? std::string("-")
                                    : format_size(static_cast<std::uint64_t>(bytes) & kWholeMib);
  };
  return gpu.memory_bytes == agent::kNotRead
             ? "-"
             : text(gpu.memory_used_bytes) + "/" + text(gpu.memory_bytes);
}

std::string power_text(const agent::GpuOnBoard& gpu) {
  constexpr std::int64_t kMilli = 1000;
  return gpu.milliwatts == agent::kNotRead ? "-" : std::to_string(gpu.milliwatts / kMilli) + "W";
}

std::string pids_text(const agent::GpuOnBoard& gpu) {
  std::vector<std::string> pids;
  for (const agent::GpuProcessInfo& process : gpu.processes) {
    if (pids.size() == kPidsShownMax) {
      break;
    }
    pids.push_back(std::to_string(process.pid));
  }
  const std::uint64_t more = gpu.processes.size() - pids.size() + gpu.processes_left_out;
  return pids.empty() ? "-" : join(pids, ",") + (more == 0 ? "" : " +" + std::to_string(more));
}

std::string since_text(std::uint64_t since_ms) {
  return since_ms == 0 ? "-" : format_age(since_ms);
}

std::string job_text(const agent::ListedGpu& gpu) {
  return gpu.job == JobId() ? "-" : muster::text_of(gpu.job);
}

/// "fan 3 (ann@gpu1)"; the host's own reason if the log has none.
std::string why_text(const agent::ListedGpu& gpu, const agent::GpuOnBoard* on_board) {
  if (gpu.state == "masked") {
    return gpu.why + " (" + gpu.by + ")";
  }
  return gpu.why.empty() && on_board != nullptr ? on_board->why : gpu.why;
}

class Gpus final : public Verb {
 public:
  void describe(Options& options) override {
    options.text("--host", host_,
                 "Only those of this host, with use, memory, temperature, power and processes as "
                 "the host reads them",
                 "NAME");
    options.text("--job", job_, "Only those that this job holds", "JOB");
    options.flag("--no-header", no_header_, "Omit the header line, for scripts");
    common_.describe(options);
    common_.describe_consistent(options);
    options.example("muster gpus --host gpu17");
  }

  int run(Session& session) override {
    agent::GpusQuery query;
    if (!job_.empty()) {
      const auto job = parse_job(job_);
      if (!job) {
        return session.fail(agent::ResponseStatus::kUsage, job.error().text);
      }
      query.job = *job;
    }
    std::string host_name;
    if (!host_.empty()) {
      const auto found = find_host(session, host_);
      if (!found.host.has_value()) {
        return found.exit_code;
      }
      query.host = found.host->id;
      host_name = found.host->name;
    }
    const auto list = read_gpus(session, query);
    if (!list.has_value()) {
      return session.failed();
    }
    const agent::Response answer = session.last();
    const auto board =
        host_name.empty() ? std::nullopt : read_board(session, host_name, query.host);
    if (session.common().is_json) {
      session.out() << to_json(*list, board, answer) << "\n";
      return 0;
    }
    const std::string table = board.has_value() ? table_of_host(*list, *board, session.screen())
                                                : table_of(*list, session.screen());
    session.out() << (no_header_ ? table.substr(table.find('\n') + 1) : table);
    return 0;
  }

 private:
  /// nullopt if that host does not answer: then it says why. The list stands without it.
  static std::optional<agent::GpuBoard> read_board(Session& session, const std::string& host,
                                                   HostId id) {
    agent::Request request;
    request.verb = agent::Verb::kGpuBoard;
    request.node = host;
    const Reply reply = session.exchange(request);
    auto board = reply.is_ok() ? agent::decode_payload<agent::GpuBoard>(reply.response.payload)
                               : std::nullopt;
    if (!board.has_value()) {
      session.note("no readings of host " + host + ": " +
                   (reply.is_ok() ? kUnreadableAnswer : reply.text));
    } else if (board->host != id) {
      session.note("no readings of host " + host + ": another host of that name answered");
      board.reset();
    } else if (!board->is_read) {
      session.note("host " + host + " reads no GPUs through a driver: no use, memory or power");
    }
    return board;
  }

  static std::string table_of(const agent::GpuList& list, const Screen& screen) {
    Table table({{.title = "HOST"},
                 {.title = "GPU", .is_number = true},
                 {.title = "UUID", .columns_min = 12},
                 {.title = "TYPE", .left_out = 2},
                 {.title = "STATE", .is_state = true},
                 {.title = "JOB", .is_number = true},
                 {.title = "USER"},
                 {.title = "SINCE", .is_number = true, .left_out = 1},
                 {.title = "WHY"}});
    for (const agent::ListedGpu& gpu : list.gpus) {
      table.add({gpu.host_name, std::to_string(gpu.index), gpu.uuid, gpu.gpu_type, gpu.state,
                 job_text(gpu), gpu.user, since_text(gpu.since_ms), why_text(gpu, nullptr)});
    }
    return table.text(screen);
  }

  static std::string table_of_host(const agent::GpuList& list, const agent::GpuBoard& board,
                                   const Screen& screen) {
    Table table({{.title = "GPU", .is_number = true},
                 {.title = "UUID", .columns_min = 12},
                 {.title = "STATE", .is_state = true},
                 {.title = "JOB", .is_number = true},
                 {.title = "USER"},
                 {.title = "SINCE", .is_number = true, .left_out = 2},
                 {.title = "USE", .is_number = true},
                 {.title = "MEM", .is_number = true},
                 {.title = "TEMP", .is_number = true},
                 {.title = "POWER", .is_number = true},
                 {.title = "THROTTLE", .left_out = 1},
                 {.title = "PIDS"},
                 {.title = "WHY"}});
    for (const agent::ListedGpu& gpu : list.gpus) {
      const auto found = std::find_if(board.gpus.begin(), board.gpus.end(),
                                      [&](const auto& each) { return each.uuid == gpu.uuid; });
      const agent::GpuOnBoard* known = found == board.gpus.end() ? nullptr : &*found;
      const agent::GpuOnBoard its = known == nullptr ? agent::GpuOnBoard() : *known;
      const bool is_suspect = gpu.state == "healthy" && its.health == "suspect";
      table.add({std::to_string(gpu.index), gpu.uuid, is_suspect ? its.health : gpu.state,
                 job_text(gpu), gpu.user,
                 since_text(gpu.since_ms != 0 ? gpu.since_ms : its.since_ms),
                 reading(its.use_percent, "%"), memory_text(its), reading(its.celsius, "C"),
                 power_text(its), its.throttle.empty() ? "-" : join(its.throttle, ","),
                 pids_text(its), why_text(gpu, known)});
    }
    return table.text(screen);
  }

  std::string host_;
  std::string job_;
  bool no_header_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_gpus() {
  return std::make_unique<Gpus>();
}

}  // namespace muster::cli
