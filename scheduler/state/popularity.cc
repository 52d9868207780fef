#include "scheduler/state/popularity.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

constexpr std::uint32_t kWhole = 1000;  ///< Thousandths of a GPU.

}  // namespace

void Popularity::note(const Request& request, std::uint32_t jobs) {
  ++arrived_;
  if (request.gpu_types.size() > kPopularNamedMax) {
    return;
  }
  PopularRequest each;
  for (const std::string& type : request.gpu_types) {
    each.types.push_back(folded(type));
  }
  std::sort(each.types.begin(), each.types.end());
  each.cpus = request.cpus;
  each.share = request.gpus == 0 ? 0 : kWhole;
  const std::uint32_t units = request.units();
  const std::uint32_t on_one =
      std::max(1U, request.units_per_host() != 0 ? request.units_per_host()
                                                 : std::min(units, kPopularGpusMax));
  each.gpus = request.gpus == 0 ? 0 : on_one;
  const std::uint64_t hosts = units / on_one;
  count(each, std::min(hosts * jobs, kPopularWeightMax));
  if (request.gpus != 0 && units % on_one != 0) {
    each.gpus = units % on_one;
    count(each, std::min<std::uint64_t>(jobs, kPopularWeightMax));
  }
}

void Popularity::count(const PopularRequest& request, std::uint64_t requests) {
  if (requests == 0) {
    return;
  }
  const auto known = counts_.find(request);
  if (known != counts_.end()) {
    known->second += requests;
    return;
  }
  std::uint64_t before = 0;
  if (counts_.size() >= kPopularMax) {
    const auto rarest =
        std::min_element(counts_.begin(), counts_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    before = rarest->second;
    counts_.erase(rarest);
  }
  counts_[request] = before + requests;
}

void Popularity::look(std::map<std::string, std::uint64_t> gpus) {
  usual_ = {counts_, std::move(gpus)};
  look_at_ = arrived_ + std::clamp(arrived_, kPopularFirst, kPopularLast);
  if (arrived_ < kPopularLast) {
    return;
  }
  for (auto count = counts_.begin(); count != counts_.end();) {
    count->second /= 2;
    count = count->second == 0 ? counts_.erase(count) : std::next(count);
  }
}

void Popularity::check() const {
  CHECK(counts_.size() <= kPopularMax && usual_.requests.size() <= kPopularMax);
  for (const Counts* counts : {&counts_, &usual_.requests}) {
    CHECK(std::all_of(counts->begin(), counts->end(),
                      [](const auto& each) { return each.second != 0; }));
  }
}

}  // namespace muster::scheduler
