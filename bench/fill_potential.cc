#include "bench/fill_potential.h"

#include <algorithm>
#include <functional>

#include "gossip/base/rng.h"

namespace muster::bench {
namespace {

constexpr std::size_t kSequences = 32;
constexpr std::size_t kSequenceLength = 48;
constexpr std::uint64_t kSeed = 7;
/// Of the potential, in tenths: what stays idle, and what is fragmented now.
constexpr std::int64_t kIdleWeight = 7;
constexpr std::int64_t kFragmentWeight = 3;
constexpr std::int64_t kMicro = 1000;  ///< Potentials are in thousandths of a thousandth.
constexpr std::uint64_t kUsualPercent = 95;
constexpr std::uint64_t kPart = 1'000'000;

/// 100 / (1 + exp(-d)) reaches 1, 2, ... 99 at so many millionths of a GPU.
constexpr std::array<std::int64_t, 99> kThresholds = {
    -4595120, -3891820, -3476099, -3178054, -2944439, -2751535, -2586689, -2442347, -2313635,
    -2197225, -2090741, -1992430, -1900959, -1815290, -1734601, -1658228, -1585627, -1516347,
    -1450010, -1386294, -1324925, -1265666, -1208311, -1152680, -1098612, -1045969, -994623,
    -944462,  -895384,  -847298,  -800119,  -753772,  -708185,  -663294,  -619039,  -575364,
    -532217,  -489548,  -447312,  -405465,  -363965,  -322773,  -281851,  -241162,  -200671,
    -160343,  -120144,  -80043,   -40005,   0,        40005,    80043,    120144,   160343,
    200671,   241162,   281851,   322773,   363965,   405465,   447312,   489548,   532217,
    575364,   619039,   663294,   708185,   753772,   800119,   847298,   895384,   944462,
    994623,   1045969,  1098612,  1152680,  1208311,  1265666,  1324925,  1386294,  1450010,
    1516347,  1585627,  1658228,  1734601,  1815290,  1900959,  1992430,  2090741,  2197225,
    2313635,  2442347,  2586689,  2751535,  2944439,  3178054,  3476099,  3891820,  4595120,
};

}  // namespace

std::uint32_t FillHost::idle() const {
  std::uint32_t sum = 0;
  for (const std::uint16_t gpu : gpus) {
    sum += gpu;
  }
  return sum;
}

bool fits(const FillHost& host, const FillRequest& request) {
  if (request.cpus > host.cpus) {
    return false;
  }
  if (request.gpus == 0) {
    return true;
  }
  return (request.models >> host.model & 1) != 0 && request.gpus <= kGpusMax &&
         host.gpus[request.gpus - 1] >= request.share;
}

FillHost placed(FillHost host, const FillRequest& request) {
  host.cpus -= request.cpus;
  if (request.gpus == 0) {
    return host;
  }
  if (request.share < kWhole) {
    std::size_t tightest = 0;
    while (tightest + 1 < kGpusMax && host.gpus[tightest + 1] >= request.share) {
      ++tightest;
    }
    host.gpus[tightest] = static_cast<std::uint16_t>(host.gpus[tightest] - request.share);
    for (std::size_t i = tightest; i + 1 < kGpusMax && host.gpus[i] < host.gpus[i + 1]; ++i) {
      std::swap(host.gpus[i], host.gpus[i + 1]);
    }
    return host;
  }
  std::rotate(host.gpus.begin(), host.gpus.begin() + request.gpus, host.gpus.end());
  std::fill(host.gpus.end() - request.gpus, host.gpus.end(), std::uint16_t{0});
  return host;
}

std::size_t FillPotential::Hash::operator()(const FillHost& host) const {
  std::uint64_t hash = mix64(std::uint64_t{host.model} << 32 | host.cpus);
  for (std::size_t i = 0; i < kGpusMax; i += 4) {
    hash = mix64(hash ^ (std::uint64_t{host.gpus[i]} << 48 | std::uint64_t{host.gpus[i + 1]} << 32 |
                         std::uint64_t{host.gpus[i + 2]} << 16 | host.gpus[i + 3]));
  }
  return static_cast<std::size_t>(hash);
}

void FillPotential::refresh() {
  known_.clear();
  usual_.assign(counts_.begin(), counts_.end());
  std::stable_sort(usual_.begin(), usual_.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::uint64_t all = 0;
  for (const auto& [request, count] : usual_) {
    all += count;
  }
  usual_count_ = 0;
  std::size_t kept = 0;
  while (kept < usual_.size() && usual_count_ * 100 < all * kUsualPercent) {
    usual_count_ += usual_[kept++].second;
  }
  usual_.resize(kept);
  std::vector<std::pair<FillRequest, std::uint64_t>> of_gpus;
  std::uint64_t gpu_count = 0;
  std::uint64_t demand = 0;
  for (const auto& [request, count] : usual_) {
    if (request.gpus != 0) {
      gpu_count += count;
      of_gpus.emplace_back(request, gpu_count);
      demand += count * request.milli();
    }
  }
  sequences_.assign(kSequences, {});
  Rng rng(kSeed);
  for (std::vector<FillRequest>& sequence : sequences_) {
    for (std::size_t i = 0; i < kSequenceLength && gpu_count != 0; ++i) {
      const std::uint64_t draw = rng.below(gpu_count);
      sequence.push_back(std::upper_bound(of_gpus.begin(), of_gpus.end(), draw,
                                          [](std::uint64_t value, const auto& each) {
                                            return value < each.second;
                                          })
                             ->first);
    }
  }
  std::uint64_t capacity = 0;
  for (const std::uint64_t each : capacity_) {
    capacity += each;
  }
  scarcity_.assign(capacity_.size(), 0);
  for (const auto& [request, count] : usual_) {
    if (request.gpus == 0 || !request.is_typed()) {
      continue;
    }
    std::uint64_t allowed = 0;
    for (std::size_t model = 0; model < capacity_.size(); ++model) {
      allowed += (request.models >> model & 1) != 0 ? capacity_[model] : 0;
    }
    for (std::size_t model = 0; model < capacity_.size() && allowed != 0; ++model) {
      if ((request.models >> model & 1) != 0) {
        // Of its demand the part, over that of the capacity which may serve it.
        const std::uint64_t part = count * request.milli() * kPart / demand;
        scarcity_[model] += static_cast<std::int64_t>(part * capacity / allowed);
      }
    }
  }
}

std::int64_t FillPotential::left_idle(const FillHost& host) const {
  std::int64_t sum = 0;
  for (const std::vector<FillRequest>& sequence : sequences_) {
    FillHost filled = host;
    std::uint32_t idle = host.idle();
    for (const FillRequest& request : sequence) {
      if (fits(filled, request)) {
        filled = placed(filled, request);
        idle -= request.milli();
        if (idle == 0 || filled.cpus == 0) {
          break;
        }
      }
    }
    sum += idle;
  }
  return sum;
}

std::int64_t FillPotential::fragmented(const FillHost& host) const {
  std::int64_t sum = 0;
  const std::int64_t idle = host.idle();
  for (const auto& [request, count] : usual_) {
    std::int64_t lost = 0;
    if (request.gpus == 0 || !fits(host, request)) {
      lost = idle;
    } else {
      for (const std::uint16_t gpu : host.gpus) {
        lost += gpu < request.share ? gpu : 0;
      }
    }
    sum += static_cast<std::int64_t>(count) * lost;
  }
  return sum;
}

std::int64_t FillPotential::potential(const FillHost& host) {
  const auto [known, is_new] = known_.try_emplace(host, 0);
  if (is_new) {
    known->second =
        kIdleWeight * left_idle(host) * kMicro / static_cast<std::int64_t>(10 * kSequences) +
        kFragmentWeight * fragmented(host) * kMicro / static_cast<std::int64_t>(10 * usual_count_);
  }
  return known->second;
}

std::uint32_t FillPotential::score(const FillHost& before, const FillRequest& request) {
  const std::int64_t scarce =
      request.gpus == 0 ? 0 : std::int64_t{request.milli()} * scarcity_[before.model] * 3 / 10'000;
  const std::int64_t gain = potential(before) - potential(placed(before, request)) - scarce;
  return static_cast<std::uint32_t>(std::upper_bound(kThresholds.begin(), kThresholds.end(), gain) -
                                    kThresholds.begin());
}

}  // namespace muster::bench
