#include "cli/verbs/gpu_list.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/api/payload.h"

namespace muster::cli {
namespace {

/// Answers asked for; each holds the GPUs of hundreds of hosts.
constexpr std::size_t kGpuPagesMax = 1000;

}  // namespace

std::optional<agent::GpuList> read_gpus(Session& session, agent::GpusQuery query) {
  agent::GpuList all;
  for (std::size_t page = 0; page < kGpuPagesMax; ++page) {
    auto list = session.read<agent::GpuList>(agent::Verb::kGpus, agent::encode_payload(query));
    if (!list.has_value()) {
      return std::nullopt;
    }
    std::move(list->gpus.begin(), list->gpus.end(), std::back_inserter(all.gpus));
    if (!(query.after < list->next)) {
      break;
    }
    query.after = list->next;
  }
  std::stable_sort(all.gpus.begin(), all.gpus.end(),
                   [](const agent::ListedGpu& a, const agent::ListedGpu& b) {
                     return std::pair(a.host_name, a.host) < std::pair(b.host_name, b.host);
                   });
  return all;
}

}  // namespace muster::cli
