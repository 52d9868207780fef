#include "scheduler/state/job_record.h"

#include <algorithm>

#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {

bool HostRecord::is_usable(std::string_view uuid) const {
  const auto contains = [uuid](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), uuid) != list.end();
  };
  return !contains(unhealthy_gpus) && !contains(quarantined) &&
         (mask_of(uuid) == nullptr || mutant(SchedulerMutant::kMaskIgnored));
}

bool HostRecord::suits(const JobSpec& spec) const {
  const Request& request = spec.request;
  const auto has = [&](const std::string& label) {
    return std::binary_search(traits.labels.begin(), traits.labels.end(), label);
  };
  const auto is_type = [&](const std::string& type) { return folded(type) == folded(gpu_type); };
  return (has_namespaces || spec.limits.keep_when_isolated) &&
         (request.gpu_types.empty() ||
          std::any_of(request.gpu_types.begin(), request.gpu_types.end(), is_type)) &&
         std::all_of(request.labels.begin(), request.labels.end(), has) &&
         std::none_of(request.not_labels.begin(), request.not_labels.end(), has);
}

}  // namespace muster::scheduler
