#include "scheduler/placement/fill_potential.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "gossip/base/check.h"
#include "gossip/base/rng.h"

namespace muster::scheduler {
namespace {

constexpr std::size_t kSequences = 32;
constexpr std::size_t kSequenceLength = 48;
constexpr std::uint64_t kSeed = 7;
/// Weights in the potential, in tenths: of what stays idle, and of what is fragmented now.
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

std::uint32_t score_of(std::int64_t gain) {
  return static_cast<std::uint32_t>(std::upper_bound(kThresholds.begin(), kThresholds.end(), gain) -
                                    kThresholds.begin());
}

}  // namespace

std::uint32_t FillHost::idle() const {
  std::uint32_t sum = 0;
  for (const std::uint16_t gpu : gpus) {
    sum += gpu;
  }
  return sum;
}

std::uint64_t FillRequest::cpus_on(const FillHost& host) const {
  return cpus.value_or(std::uint64_t{host.cpus_a_gpu} * share / kWholeGpu) * std::uint64_t{gpus};
}

bool fits(const FillHost& host, const FillRequest& request) {
  if (request.gpus == 0) {
    return true;
  }
  return request.gpus <= kSharedGpusMax && request.cpus_on(host) <= host.cpus &&
         (request.types >> host.type & 1) != 0 && host.gpus[request.gpus - 1] >= request.share;
}

FillHost placed(FillHost host, const FillRequest& request) {
  host.cpus -=
      static_cast<std::uint32_t>(std::min<std::uint64_t>(host.cpus, request.cpus_on(host)));
  if (request.gpus == 0) {
    return host;
  }
  if (request.share < kWholeGpu) {
    for (std::uint32_t i = 0; i < request.gpus; ++i) {
      std::size_t tightest = 0;
      while (tightest + 1 < kSharedGpusMax && host.gpus[tightest + 1] >= request.share) {
        ++tightest;
      }
      host.gpus[tightest] = static_cast<std::uint16_t>(host.gpus[tightest] - request.share);
      for (std::size_t j = tightest; j + 1 < kSharedGpusMax && host.gpus[j] < host.gpus[j + 1];
           ++j) {
        std::swap(host.gpus[j], host.gpus[j + 1]);
      }
    }
    return host;
  }
  std::rotate(host.gpus.begin(), host.gpus.begin() + request.gpus, host.gpus.end());
  std::fill(host.gpus.end() - request.gpus, host.gpus.end(), std::uint16_t{0});
  return host;
}

std::uint64_t FillHost::index_hash() const {
  std::uint64_t hash = mix64(std::uint64_t{type} << 32 | cpus);
  hash = mix64(hash ^ cpus_a_gpu);
  for (std::size_t i = 0; i < kSharedGpusMax && gpus[i] != 0; i += 4) {
    hash = mix64(hash ^ (std::uint64_t{gpus[i]} << 48 | std::uint64_t{gpus[i + 1]} << 32 |
                         std::uint64_t{gpus[i + 2]} << 16 | gpus[i + 3]));
  }
  return hash;
}

bool FillPotential::is_of_gpus(const Usual& usual) {
  return std::any_of(usual.requests.begin(), usual.requests.end(),
                     [](const auto& each) { return each.first.gpus != 0; });
}

/// Keeps the most frequent requests for GPUs, up to kUsualPercent of all.
FillPotential::FillPotential(const Usual& usual) {
  for (const auto& [type, gpus] : usual.gpus) {
    types_.push_back(type);
  }
  std::uint64_t all = 0;
  for (const auto& [request, count] : usual.requests) {
    if (request.gpus == 0) {
      without_gpus_ += count;
      continue;
    }
    FillRequest of_host{request.gpus, request.share, request.cpus};
    if (!request.types.empty()) {
      of_host.types = 0;
      for (const std::string& type : request.types) {
        of_host.types |= std::uint64_t{1} << type_of(type);
      }
      of_host.types &= ~(std::uint64_t{1} << types_.size());  // The fleet has no such GPUs.
    }
    usual_.emplace_back(of_host, count);
    all += count;
  }
  CHECK(all != 0);
  std::stable_sort(usual_.begin(), usual_.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::size_t kept = 0;
  while (kept < usual_.size() && usual_count_ * 100 < all * kUsualPercent) {
    usual_count_ += usual_[kept++].second;
  }
  usual_.resize(kept);
  // Requests without GPUs must not hide those with GPUs, however many they are.
  without_gpus_ = std::min(without_gpus_, usual_count_);
  usual_count_ += without_gpus_;
  draw_sequences();
  find_scarce(usual);
}

void FillPotential::draw_sequences() {
  std::vector<std::pair<FillRequest, std::uint64_t>> of_gpus;  // With the running count.
  std::uint64_t count = 0;
  for (const auto& [request, its] : usual_) {
    count += its;
    of_gpus.emplace_back(request, count);
  }
  sequences_.assign(kSequences, {});
  Rng rng(kSeed);
  for (std::vector<FillRequest>& sequence : sequences_) {
    for (std::size_t i = 0; i < kSequenceLength; ++i) {
      const std::uint64_t draw = rng.below(count);
      sequence.push_back(std::upper_bound(of_gpus.begin(), of_gpus.end(), draw,
                                          [](std::uint64_t value, const auto& each) {
                                            return value < each.second;
                                          })
                             ->first);
    }
  }
}

void FillPotential::find_scarce(const Usual& usual) {
  std::vector<std::uint64_t> gpus;
  std::uint64_t capacity = 0;
  for (const auto& [type, count] : usual.gpus) {
    gpus.push_back(count);
    capacity += count;
  }
  std::uint64_t demand = 0;
  for (const auto& [request, count] : usual_) {
    demand += count * request.milli();
  }
  scarcity_.assign(gpus.size() + 1, 0);
  for (const auto& [request, count] : usual_) {
    if (request.types == ~std::uint64_t{0}) {
      continue;
    }
    std::uint64_t allowed = 0;
    for (std::size_t type = 0; type < gpus.size(); ++type) {
      allowed += (request.types >> type & 1) != 0 ? gpus[type] : 0;
    }
    for (std::size_t type = 0; type < gpus.size() && allowed != 0; ++type) {
      if ((request.types >> type & 1) != 0) {
        // The part of its demand, over the part of the capacity that may serve it.
        const std::uint64_t part = count * request.milli() * kPart / demand;
        scarcity_[type] += static_cast<std::int64_t>(part * capacity / allowed);
      }
    }
  }
}

std::uint32_t FillPotential::type_of(const std::string& folded) const {
  const auto found = std::lower_bound(types_.begin(), types_.end(), folded);
  return found != types_.end() && *found == folded
             ? static_cast<std::uint32_t>(found - types_.begin())
             : static_cast<std::uint32_t>(types_.size());
}

FillHost FillPotential::host_of(const HostKind& kind, const HostSpace& space) const {
  FillHost host;
  host.type = type_of(kind.gpu_type);
  host.cpus = space.cpus / kOneCpu * kOneCpu;
  host.cpus_a_gpu = kind.cpus_a_gpu;
  const std::size_t whole = std::min<std::size_t>(space.free_gpus(), kSharedGpusMax);
  std::fill_n(host.gpus.begin(), whole, static_cast<std::uint16_t>(kWholeGpu));
  std::copy_n(space.shared.begin(), kSharedGpusMax - whole,
              host.gpus.begin() + static_cast<std::ptrdiff_t>(whole));
  return host;
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
  const std::int64_t idle = host.idle();
  std::int64_t sum = static_cast<std::int64_t>(without_gpus_) * idle;
  for (const auto& [request, count] : usual_) {
    std::int64_t lost = 0;
    if (!fits(host, request)) {
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
  const std::uint64_t hash = host.index_hash();
  const auto* known = known_.find(hash, [&](const auto& each) { return each.first == host; });
  if (known != nullptr) {
    return known->second;
  }
  if (known_.size() >= kPotentialsKept) {
    known_.clear();
  }
  const std::int64_t potential =
      kIdleWeight * left_idle(host) * kMicro / static_cast<std::int64_t>(10 * kSequences) +
      kFragmentWeight * fragmented(host) * kMicro / static_cast<std::int64_t>(10 * usual_count_);
  known_.put(hash, {host, potential});
  return potential;
}

std::uint32_t FillPotential::score(const FillHost& before, const FillRequest& request) {
  const std::int64_t scarce = std::int64_t{request.milli()} * scarcity_[before.type] * 3 / 10'000;
  const std::int64_t gain = potential(before) - potential(placed(before, request)) - scarce;
  return score_of(gain);
}

std::uint32_t FillPotential::score(const Shape& shape, const HostKind& kind, const HostSpace& space,
                                   std::uint32_t units) {
  FillHost host = host_of(kind, space);
  if (shape.share == 0) {
    FillHost less = host;
    less.cpus -= static_cast<std::uint32_t>(
        std::min(std::uint64_t{less.cpus}, std::uint64_t{cpus_of_unit(shape, kind)} * units));
    return score_of(potential(host) - potential(less));
  }
  return score(
      host, FillRequest{std::min<std::uint32_t>(units, kSharedGpusMax), shape.share, shape.cpus});
}

}  // namespace muster::scheduler
