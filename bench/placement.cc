// Placement alone, on one core: a fleet of 12,500 hosts of 8 GPUs in 391 racks, jobs that come and
// go. It times the choice of hosts and the updates of the index; no log, no state, no agents.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/placement/capacity_index.h"

namespace muster::bench {
namespace {

using namespace scheduler;  // NOLINT
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kHosts = 12'500;
constexpr std::uint32_t kHostsARack = 32;
constexpr std::uint32_t kHostCpus = 96'000;
constexpr std::uint32_t kAllGpus = kHosts * 8;

struct Running {
  Shape shape;
  std::vector<HostShare> shares;
  std::uint32_t gpus = 0;
};

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double percentile(std::vector<double>& times, double part) {
  if (times.empty()) {
    return 0;
  }
  std::sort(times.begin(), times.end());
  return times[std::min(times.size() - 1,
                        static_cast<std::size_t>(part * static_cast<double>(times.size())))];
}

class Fleet {
 public:
  explicit Fleet(std::uint64_t seed) : rng_(seed), spaces_(kHosts) {
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      HostKind kind;
      kind.gpu_type = std::string(1, static_cast<char>('A' + host / kHostsARack % 3));
      kind.cpus_a_gpu = kHostCpus / 8;
      spaces_[host].kind = index.kind(kind);
      spaces_[host].islands = {4, 4};
      spaces_[host].cpus = kHostCpus;
      index.seat(HostNumber(host), {"", "rack" + std::to_string(host / kHostsARack)});
      tell(host);
    }
  }

  Shape shape() {
    Shape shape;
    const std::uint64_t draw = rng_.below(100);
    shape.units = draw < 48   ? 1
                  : draw < 68 ? 2
                  : draw < 88 ? 4
                  : draw < 98 ? 8
                              : static_cast<std::uint32_t>(8 * (8 + rng_.below(57)));
    static constexpr std::array<std::uint32_t, 4> kCpus = {12'000, 8'000, 4'000, 1'000};
    shape.cpus = kCpus[rng_.below(kCpus.size())];
    if (rng_.below(4) != 0) {
      shape.types = {std::string(1, static_cast<char>('A' + rng_.below(3)))};
    }
    return shape;
  }

  bool place(const Shape& shape) {
    std::vector<HostShare> shares = index.choose(shape);
    if (shares.empty()) {
      return false;
    }
    for (const HostShare& share : shares) {
      give(index_of(share.host), shape, share.units);
    }
    used_ += shape.units;
    running_.push_back(Running{shape, std::move(shares), shape.units});
    return true;
  }

  void end_one() {
    const std::size_t which = rng_.below(running_.size());
    std::swap(running_[which], running_.back());
    const Running job = std::move(running_.back());
    running_.pop_back();
    used_ -= job.gpus;
    for (const HostShare& share : job.shares) {
      take_back(index_of(share.host), job.shape, share.units);
    }
  }

  double load() const { return static_cast<double>(used_) / kAllGpus; }
  std::size_t running() const { return running_.size(); }

  CapacityIndex index;

 private:
  void give(std::uint32_t host, const Shape& shape, std::uint32_t gpus) {
    HostSpace& space = spaces_[host];
    space.cpus -= *shape.cpus * gpus;
    std::uint16_t& small = space.islands[1];
    std::uint16_t& large = space.islands[0];
    std::uint16_t& first = small >= gpus ? small : large;
    const std::uint32_t from_first = std::min<std::uint32_t>(first, gpus);
    first = static_cast<std::uint16_t>(first - from_first);
    std::uint16_t& other = &first == &small ? large : small;
    other = static_cast<std::uint16_t>(other - (gpus - from_first));
    settle(host);
  }
  void take_back(std::uint32_t host, const Shape& shape, std::uint32_t gpus) {
    HostSpace& space = spaces_[host];
    space.cpus += *shape.cpus * gpus;
    const std::uint32_t to_first = std::min<std::uint32_t>(4U - space.islands[0], gpus);
    space.islands[0] = static_cast<std::uint16_t>(space.islands[0] + to_first);
    space.islands[1] = static_cast<std::uint16_t>(space.islands[1] + gpus - to_first);
    settle(host);
  }
  void settle(std::uint32_t host) {
    HostSpace& space = spaces_[host];
    if (space.islands[1] > space.islands[0]) {
      std::swap(space.islands[0], space.islands[1]);
    }
    tell(host);
  }
  void tell(std::uint32_t host) { index.set(HostNumber(host), spaces_[host]); }

  Rng rng_;
  std::vector<HostSpace> spaces_;
  std::vector<Running> running_;
  std::uint32_t used_ = 0;
};

void run_mix(double load, const std::string& name, int placements) {
  Fleet fleet(1);
  while (fleet.load() < load) {
    fleet.place(fleet.shape());
  }
  std::vector<double> small;
  std::vector<double> a_gpu;
  int failed = 0;
  double longest = 0;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < placements; ++i) {
    const Shape shape = fleet.shape();
    const Clock::time_point before = Clock::now();
    const bool is_placed = fleet.place(shape);
    const double took = us_since(before);
    longest = std::max(longest, took);
    failed += is_placed ? 0 : 1;
    (shape.units <= 8 ? small : a_gpu).push_back(shape.units <= 8 ? took : took / shape.units);
    while (fleet.load() > load) {
      fleet.end_one();
    }
  }
  const double seconds = us_since(begin) / 1e6;
  std::printf("figure choices_per_s_%s %.0f 1/s\n", name.c_str(), placements / seconds);
  std::printf("figure choice_p50_us_%s %.2f us\n", name.c_str(), percentile(small, 0.5));
  std::printf("figure choice_p99_us_%s %.2f us\n", name.c_str(), percentile(small, 0.99));
  std::printf("figure choice_gang_us_a_gpu_%s %.3f us\n", name.c_str(), percentile(a_gpu, 0.99));
  std::printf("figure choice_max_us_%s %.0f us\n", name.c_str(), longest);
  std::printf("# %s: %zu running, %zu classes, %d of %d did not fit\n", name.c_str(),
              fleet.running(), fleet.index.classes(), failed, placements);
}

void run_gang(bool is_scattered) {
  Fleet fleet(2);
  while (fleet.load() < 0.7) {
    fleet.place(fleet.shape());
  }
  const char* name = is_scattered ? "scattered" : "open";
  Shape gang;
  gang.units = 4096;
  gang.cpus = 0;
  if (is_scattered) {
    // Squatters of one GPU on whole hosts, until few are left.
    Rng rng(3);
    std::vector<std::uint32_t> whole;
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      if (fleet.index.space(HostNumber(host))->free_gpus() == 8) {
        whole.push_back(host);
      }
    }
    for (std::size_t i = whole.size(); i > 1; --i) {
      std::swap(whole[i - 1], whole[rng.below(i)]);
    }
    std::map<std::uint32_t, std::size_t> left;  // By type: 600 hosts of each stay whole.
    for (const std::uint32_t host : whole) {
      HostSpace space = *fleet.index.space(HostNumber(host));
      if (++left[host / kHostsARack % 3] > 600) {
        space.islands[1] = 3;
        fleet.index.set(HostNumber(host), space);
      }
    }
  }
  std::vector<double> times;
  std::size_t racks = 0;
  for (int i = 0; i < 1000; ++i) {
    const Clock::time_point before = Clock::now();
    const std::vector<HostShare> shares = fleet.index.choose(gang);
    times.push_back(us_since(before));
    std::set<std::uint32_t> used;
    for (const HostShare& share : shares) {
      used.insert(index_of(share.host) / kHostsARack);
    }
    racks = used.size();
    if (shares.empty()) {
      std::printf("# %s: the gang does not fit\n", name);
    }
  }
  std::printf("figure gang4096_p50_us_%s %.1f us\n", name, percentile(times, 0.5));
  std::printf("figure gang4096_p99_us_%s %.1f us\n", name, percentile(times, 0.99));
  std::printf("figure gang4096_racks_%s %zu racks\n", name, racks);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const int placements = argc > 1 ? std::atoi(argv[1]) : 300'000;
  muster::bench::run_mix(0.7, "70", placements);
  muster::bench::run_mix(0.95, "95", placements);
  muster::bench::run_gang(false);
  muster::bench::run_gang(true);
  return 0;
}
