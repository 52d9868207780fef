#include "agent/api/rest/gpus_calls.h"

// GPUs as the log has them, and as their own host sees them; masks.

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "agent/api/gpus.h"
#include "agent/api/json/gpus.h"
#include "agent/api/rest/host_lookup.h"
#include "agent/api/rest/job_ids.h"

namespace muster::agent {
namespace {

/// Answers asked for; each holds the GPUs of hundreds of hosts.
constexpr std::size_t kGpuPagesMax = 1000;
/// Fewer characters of a uuid name another GPU tomorrow.
constexpr std::size_t kUuidCharactersMin = 8;

using TakeGpus = std::function<CallStep(GpuList, const Response&)>;

/// The GPUs that are read by the steps of one call.
struct GpusRead {
  GpuList all{};
  GpusQuery query{};
  std::size_t pages = 0;
  TakeGpus take{};
};

CallStep next_gpus(const CallFrame& frame, const std::shared_ptr<GpusRead>& so_far) {
  return look_up<GpuList>(
      frame, Verb::kGpus, encode_payload(so_far->query),
      [frame, so_far](GpuList list, const Response& response) -> CallStep {
        std::vector<ListedGpu>& all = so_far->all.gpus;
        std::move(list.gpus.begin(), list.gpus.end(), std::back_inserter(all));
        if (so_far->query.after < list.next && ++so_far->pages < kGpuPagesMax) {
          so_far->query.after = list.next;
          return next_gpus(frame, so_far);
        }
        std::stable_sort(all.begin(), all.end(), [](const ListedGpu& a, const ListedGpu& b) {
          return std::pair(a.host_name, a.host) < std::pair(b.host_name, b.host);
        });
        return so_far->take(std::move(so_far->all), response);
      });
}

CallStep read_gpus(const CallFrame& frame, GpusQuery query, TakeGpus take) {
  auto so_far = std::make_shared<GpusRead>();
  so_far->query = std::move(query);
  so_far->take = std::move(take);
  return next_gpus(frame, so_far);
}

/// The GPUs of one host, with what that host reads from its driver now, if it answers.
CallStep told_host_gpus(const CallFrame& frame, GpusQuery query, const std::string& host_name) {
  const HostId host = query.host;
  return read_gpus(frame, std::move(query),
                   [frame, host, host_name](const GpuList& list, const Response& response) {
                     const auto read = std::make_shared<const GpuList>(list);
                     Request question = request_of(frame, Verb::kGpuBoard, "");
                     question.node = host_name;
                     CallStep step = ask(std::move(question), [=](const Response& answer) {
                       auto board = answer.status == ResponseStatus::kOk
                                        ? decode_payload<GpuBoard>(answer.payload)
                                        : std::nullopt;
                       if (board.has_value() && board->host != host) {
                         board.reset();  // Another host of that name.
                       }
                       return told(frame, to_json(*read, board, response), response);
                     });
                     step.is_addition = true;
                     return step;
                   });
}

/// The job of a filter; 0 = any.
JobId filter_job(QueryFields& query) {
  const auto text = query.text("job");
  if (!text.has_value()) {
    return {};
  }
  const Result<JobId> job = parse_job_id(*text);
  if (!job) {
    query.refuse("job", job.error().text);
    return {};
  }
  return *job;
}

CallStep refused_gpus(const GpuList& list, const std::string& uuid) {
  if (list.gpus.empty()) {
    return refused(ResponseStatus::kNotFound,
                   "no host has registered a GPU '" + uuid + "': `muster gpus` lists them");
  }
  const ListedGpu& first = list.gpus.front();
  const ListedGpu& last = list.gpus.back();
  return refused(ResponseStatus::kConflict,
                 "'" + uuid + "' means " + std::to_string(list.gpus.size()) + " GPUs, among them " +
                     first.uuid + " of host " + first.host_name + " and " + last.uuid +
                     " of host " + last.host_name +
                     (first.uuid == last.uuid ? ": give the host"
                                              : ": give more characters, or "
                                                "the host"));
}

/// A mask or an unmask: `done` is the key of its document.
struct GpuOrder {
  Verb verb{};
  std::string done{};
  std::string uuid{};
  std::string why{};
};

CallStep order_gpu(const CallFrame& frame, const GpuOrder& wanted, HostId host) {
  GpusQuery query;
  query.uuid = wanted.uuid;
  query.host = host;
  return read_gpus(
      frame, std::move(query), [frame, wanted](const GpuList& list, const Response&) -> CallStep {
        if (list.gpus.size() != 1) {
          return refused_gpus(list, wanted.uuid);
        }
        const ListedGpu& gpu = list.gpus.front();
        return order(
            frame, wanted.verb, encode_payload(GpuOrderArgs{gpu.host, gpu.uuid, wanted.why}),
            [frame, wanted, gpu](const Response& response) {
              return told(frame, gpu_ordered_json(wanted.done, gpu.uuid, gpu.host_name, gpu.host),
                          response);
            });
      });
}

CallStep begin_gpu_order(CallInput& input, Verb verb, const std::string& done) {
  GpuOrder wanted{verb, done, input.value("gpu"), input.body.text("why").value_or("")};
  const std::string host = input.body.text("host").value_or("");
  if (wanted.why.empty()) {
    input.body.refuse("why", "give the reason");
  }
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  if (wanted.uuid.size() < kUuidCharactersMin) {
    return refused(ResponseStatus::kUsage, "'" + wanted.uuid + "' is too short: give at least " +
                                               std::to_string(kUuidCharactersMin) +
                                               " characters of the UUID (muster gpus)");
  }
  if (host.empty()) {
    return order_gpu(input.frame, wanted, HostId());
  }
  return find_host(input.frame, host, [frame = input.frame, wanted](const HostInfo& found) {
    return order_gpu(frame, wanted, found.id);
  });
}

/// A page has whole hosts: those behind the last host of the page before.
CallStep told_page_of_gpus(const CallFrame& frame, GpusQuery query, std::size_t limit) {
  return look_up<GpuList>(
      frame, Verb::kGpus, encode_payload(query),
      [frame, limit](GpuList list, const Response& response) -> CallStep {
        HostId next = list.next;
        while (list.gpus.size() > limit && list.gpus.front().host != list.gpus.back().host) {
          const HostId last = list.gpus.back().host;
          std::erase_if(list.gpus, [last](const ListedGpu& gpu) { return gpu.host == last; });
          next = list.gpus.back().host;
        }
        CallStep step = told(frame, to_json(list, std::nullopt, response), response);
        if (!next.is_zero()) {
          step.answer.fields.emplace_back("muster-next", next.hex());
        }
        return step;
      });
}

}  // namespace

CallStep list_gpus(CallInput& input) {
  GpusQuery query;
  query.job = filter_job(input.query);
  query.uuid = input.query.text("uuid").value_or("");
  const std::string host = input.query.text("host").value_or("");
  const auto limit = input.query.number("limit", 1, kPageMax);
  const std::string after = input.query.text("after").value_or("");
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  if (!host.empty()) {
    return find_host(input.frame, host, [frame = input.frame, query](const HostInfo& found) {
      GpusQuery of_host = query;
      of_host.host = found.id;
      return told_host_gpus(frame, std::move(of_host), found.name);
    });
  }
  if (!after.empty()) {
    const std::size_t size = limit.value_or(kPageMax);
    return find_host(input.frame, after, [frame = input.frame, query, size](const HostInfo& last) {
      GpusQuery behind = query;
      behind.after = last.id;
      return told_page_of_gpus(frame, std::move(behind), size);
    });
  }
  if (limit.has_value()) {
    return told_page_of_gpus(input.frame, std::move(query), *limit);
  }
  return read_gpus(input.frame, std::move(query),
                   [frame = input.frame](const GpuList& list, const Response& response) {
                     return told(frame, to_json(list, std::nullopt, response), response);
                   });
}

CallStep host_gpus(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return find_host(input.frame, input.value("host"), [frame = input.frame](const HostInfo& host) {
    GpusQuery query;
    query.host = host.id;
    return told_host_gpus(frame, std::move(query), host.name);
  });
}

CallStep mask_gpu(CallInput& input) {
  return begin_gpu_order(input, Verb::kMaskGpu, "masked");
}
CallStep unmask_gpu(CallInput& input) {
  return begin_gpu_order(input, Verb::kUnmaskGpu, "unmasked");
}

}  // namespace muster::agent
