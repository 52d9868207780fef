#include "tests/sim/mixed_requests.h"

#include <algorithm>
#include <chrono>

namespace muster::sim {
namespace {

void ask_for_kind(scheduler::Request& request, Rng& rng, std::uint32_t chance) {
  if (!rng.chance(chance)) {
    return;
  }
  const auto few = [&rng](std::uint64_t most) {
    return static_cast<std::uint32_t>(1 + rng.below(most));
  };
  switch (rng.below(6)) {
    case 0:
      request.ranks = few(8);
      request.gpus = 0;
      break;
    case 1:
      request.gpus_per_host = few(4);
      request.gpus = request.gpus_per_host * few(3);
      request.ranks_per_host = rng.below(2) == 0 ? 1 : 0;
      break;
    case 2:
      request.cpus = few(4) * 1'000;
      request.gpus = std::min(request.gpus, few(8));
      break;
    case 3:
      request.labels = {"odd"};
      request.gpus = std::min(request.gpus, few(8));
      break;
    case 4:
      request.pack = rng.below(2) == 0 ? scheduler::Pack::kIsland : scheduler::Pack::kHost;
      request.gpus = few(4);
      break;
    default:
      request.pack = scheduler::Pack::kRack;
      request.pack_wait = std::chrono::seconds(few(10));
      break;
  }
}

void ask_for_tasks(scheduler::JobSpec& spec, Rng& rng, std::uint32_t chance) {
  if (!rng.chance(chance / 3)) {
    return;
  }
  const auto first = static_cast<std::uint32_t>(rng.below(100));
  spec.array = scheduler::ArrayRange{first, first + static_cast<std::uint32_t>(rng.below(6)),
                                     static_cast<std::uint32_t>(rng.below(4))};
  if (spec.request.gpus_per_host == 0) {
    spec.request.gpus = std::min<std::uint32_t>(spec.request.gpus, 2);
  }
}

}  // namespace

void ask_for_more(scheduler::JobSpec& spec, Rng& rng, std::uint32_t chance) {
  ask_for_kind(spec.request, rng, chance);
  ask_for_tasks(spec, rng, chance);
}

void ask_to_wait(scheduler::JobSpec& spec, Rng& rng, std::uint32_t chance,
                 const std::function<JobId()>& other) {
  if (chance == 0 || !rng.chance(chance)) {
    return;
  }
  scheduler::Eligibility& asked = spec.eligibility;
  const auto seconds = [&rng](std::uint64_t most) {
    return std::chrono::seconds(1 + static_cast<std::int64_t>(rng.below(most)));
  };
  if (rng.below(2) == 0) {
    asked.begin = seconds(30);
  }
  if (rng.below(4) == 0) {
    asked.deadline = asked.begin + seconds(40);
  }
  const JobId earlier = rng.below(2) == 0 ? other() : JobId();
  if (earlier != JobId()) {
    const auto ending = static_cast<scheduler::Ending>(
        rng.below(static_cast<std::uint64_t>(scheduler::kEndingLast) + 1));
    asked.after.push_back({ending, earlier});
  }
}

}  // namespace muster::sim
