#include "scheduler/why/what_if.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace muster::scheduler {

WhatIf::WhatIf(const State& state, const Capacity& capacity, HostChoice choice)
    : state_(state),
      capacity_(capacity),
      choice_(std::move(choice)),
      free_(capacity.copy_of_free()) {
  for (const Token& token : state.live()) {
    attempts_[state.attempt(token)->job].push_back(token);
  }
}

bool WhatIf::fits_without(const Shape& shape, const std::vector<JobId>& jobs) {
  std::set<Token> ended;
  std::set<HostId> hosts;
  for (const JobId job : jobs) {
    for (const Token& token : attempts_[job]) {
      ended.insert(token);
      for (const MemberRecord& record : state_.attempt(token)->members) {
        if (record.end == MemberEnd::kNone) {
          hosts.insert(record.member.host);
        }
      }
    }
  }
  for (const HostId& host : hosts) {
    if (const auto space = capacity_.free_without(state_, host, ended)) {
      free_.set(capacity_.number_of(host), *space);
    }
  }
  const bool fits = !free_.choose(shape, choice_).empty();
  for (const HostId& host : hosts) {
    if (const HostSpace* before = capacity_.free_on(host)) {
      free_.set(capacity_.number_of(host), *before);
    }
  }
  return fits;
}

std::vector<JobId> WhatIf::smallest_end(const Shape& shape,
                                        const std::vector<std::pair<JobId, std::uint32_t>>& jobs) {
  std::vector<JobId> all;
  for (const auto& [job, gpus] : jobs) {
    all.push_back(job);
  }
  if (fits_without(shape, {}) || !fits_without(shape, all)) {
    return {};
  }
  if (jobs.size() <= kExactJobsMax) {
    std::pair<std::pair<int, std::uint32_t>, std::vector<JobId>> best{{INT32_MAX, 0}, {}};
    for (std::uint32_t set = 1; set < std::uint32_t{1} << jobs.size(); ++set) {
      std::pair<int, std::uint32_t> size{std::popcount(set), 0};
      std::vector<JobId> some;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        if ((set >> i & 1) != 0) {
          some.push_back(jobs[i].first);
          size.second += jobs[i].second;
        }
      }
      if (size < best.first && fits_without(shape, some)) {
        best = {size, std::move(some)};
      }
    }
    return best.second;
  }
  // A request that fits without some jobs fits without more: finds the shortest prefix of jobs.
  std::size_t low = 0;
  std::size_t high = all.size();
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    const std::vector<JobId> some(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(middle));
    (fits_without(shape, some) ? high : low) = middle;
  }
  all.resize(high);
  for (std::size_t tried = 0, i = 0; i < all.size() && tried < kPrunedMax; ++tried) {
    std::vector<JobId> fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (fits_without(shape, fewer)) {
      all = std::move(fewer);
    } else {
      ++i;
    }
  }
  return all;
}

}  // namespace muster::scheduler
