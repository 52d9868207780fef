// How much of a real fleet's GPUs a packing rule gives away: the openb trace (Alibaba, 2023) as the
// authors of FGD replay it. 1,213 hosts, empty; the pods of one list, shuffled by seed, then drawn
// from it again until 130 % of the fleet were asked for; each pod is placed at once or dropped, and
// no pod leaves. Measured: the held part of the fleet, when 100 and 130 % have been asked for. The
// scheduler's capacity index chooses hosts; usual requests are counted as in its state.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/placement/capacity_index.h"

namespace muster::bench {
namespace {

using scheduler::CapacityIndex;
using scheduler::FillHost;
using scheduler::HostNumber;
using scheduler::HostSpace;
using scheduler::kWholeGpu;
using scheduler::Popularity;
using scheduler::PopularRequest;
using scheduler::Shape;

struct Host {
  std::string type;
  std::uint32_t gpus = 0;
  std::uint32_t cpus = 0;
  std::uint64_t memory_mb = 0;
  FillHost free;  ///< Its GPUs and CPUs.
};
struct Pod {
  Shape shape;
  std::uint64_t milli() const { return std::uint64_t{shape.units} * shape.share; }
};
enum class Rule { kBestFit, kOnline, kGiven };

std::vector<std::vector<std::string>> rows_of(std::istream& in) {
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> row;
    std::stringstream cells(line + ",");
    for (std::string cell; std::getline(cells, cell, ',');) {
      row.push_back(cell);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::uint32_t number(const std::string& text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class Fleet {
 public:
  explicit Fleet(const std::string& path) {
    std::ifstream in(path);
    for (const auto& row : rows_of(in)) {
      Host host;
      host.type = scheduler::folded(row.at(4));
      host.cpus = number(row.at(1));
      host.memory_mb = number(row.at(2));
      host.gpus = number(row.at(3));
      host.free.cpus = host.cpus;
      std::fill_n(host.free.gpus.begin(), host.gpus, static_cast<std::uint16_t>(kWholeGpu));
      gpus_[host.type] += host.gpus;
      milli_ += std::uint64_t{host.gpus} * kWholeGpu;
      hosts_.push_back(host);
    }
  }

  const std::vector<Host>& hosts() const { return hosts_; }
  const std::map<std::string, std::uint64_t>& gpus() const { return gpus_; }
  std::uint64_t milli() const { return milli_; }

 private:
  std::vector<Host> hosts_;
  std::map<std::string, std::uint64_t> gpus_;
  std::uint64_t milli_ = 0;
};

/// A unit is a GPU; a pod that wants none is one unit.
std::vector<Pod> pods_of(std::istream& in) {
  std::vector<Pod> pods;
  for (const auto& row : rows_of(in)) {
    Shape shape;
    const std::uint32_t gpus = number(row.at(3));
    shape.units = std::max(gpus, 1U);
    shape.per_host = shape.units;
    shape.share = gpus == 0 ? 0 : number(row.at(4));
    shape.cpus = (number(row.at(1)) + shape.units - 1) / shape.units;
    shape.memory_mb = (number(row.at(2)) + shape.units - 1) / shape.units;
    shape.takes_bare_hosts = true;
    shape.pack = scheduler::Pack::kHost;
    std::stringstream names(row.at(5));
    for (std::string name; std::getline(names, name, '|');) {
      shape.types.push_back(scheduler::folded(name));
    }
    pods.push_back({shape});
  }
  return pods;
}

/// The pods in the order of their arrival.
std::vector<Pod> arrivals_of(std::vector<Pod> pods, std::uint64_t fleet_milli, std::uint64_t seed) {
  Rng rng(seed);
  const std::vector<Pod> list = pods;
  for (std::size_t i = pods.size(); i > 1; --i) {
    std::swap(pods[i - 1], pods[rng.below(i)]);
  }
  const std::uint64_t wanted = fleet_milli * 13 / 10;
  std::uint64_t asked = 0;
  for (const Pod& pod : pods) {
    asked += pod.milli();
  }
  while (asked > wanted) {
    const std::size_t out = rng.below(pods.size());
    asked -= pods[out].milli();
    pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(out));
  }
  while (true) {
    const Pod& more = list[rng.below(list.size())];
    if (asked + more.milli() > wanted) {
      return pods;
    }
    asked += more.milli();
    pods.push_back(more);
  }
}

class Replay {
 public:
  Replay(const Fleet& fleet, Rule rule, const std::vector<Pod>& arrivals)
      : fleet_(fleet), rule_(rule), hosts_(fleet.hosts()) {
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      index_.seat(static_cast<HostNumber>(i), {});
      tell(i);
    }
    if (rule_ == Rule::kGiven) {
      for (const Pod& pod : arrivals) {
        note(pod);
      }
      popularity_.look(fleet_.gpus());
      index_.set_usual(popularity_.usual());
    }
  }

  /// False if it did not fit.
  bool arrive(const Pod& pod) {
    if (rule_ == Rule::kOnline) {
      note(pod);
      if (popularity_.is_due()) {
        popularity_.look(fleet_.gpus());
        index_.set_usual(popularity_.usual());
      }
    }
    const std::vector<scheduler::HostShare> shares = index_.choose(pod.shape);
    for (const scheduler::HostShare& share : shares) {
      take(index_of(share.host), pod.shape, share.units);
    }
    return !shares.empty();
  }

 private:
  void note(const Pod& pod) {
    const Shape& shape = pod.shape;
    std::vector<std::string> types = shape.types;
    std::sort(types.begin(), types.end());
    const std::uint32_t gpus = shape.share == 0 ? 0 : shape.units;
    popularity_.note(PopularRequest{gpus, shape.share, shape.cpus, types});
  }

  void take(std::size_t which, const Shape& shape, std::uint32_t units) {
    Host& host = hosts_[which];
    scheduler::FillRequest request{units, shape.share, shape.cpus};
    host.free = scheduler::placed(host.free, request);
    host.memory_mb -= *shape.memory_mb * units;
    tell(which);
  }

  void tell(std::size_t which) {
    const Host& host = hosts_[which];
    scheduler::HostKind kind;
    kind.gpu_type = host.type;
    kind.cpus_a_rank = scheduler::kOneCpu;
    kind.cpus_a_gpu = host.gpus == 0 ? 0 : host.cpus / host.gpus;
    HostSpace space;
    space.kind = index_.kind(kind);
    std::size_t whole = 0;
    while (whole < host.free.gpus.size() && host.free.gpus[whole] == kWholeGpu) {
      ++whole;
    }
    space.islands[0] = static_cast<std::uint16_t>(whole);
    std::copy(host.free.gpus.begin() + static_cast<std::ptrdiff_t>(whole), host.free.gpus.end(),
              space.shared.begin());
    space.cpus = host.free.cpus;
    space.memory_mb = host.memory_mb;
    index_.set(static_cast<HostNumber>(which), space);
  }

  const Fleet& fleet_;
  Rule rule_;
  std::vector<Host> hosts_;
  CapacityIndex index_;
  Popularity popularity_;
};

std::pair<double, double> held_at(const Fleet& fleet, Rule rule, const std::vector<Pod>& arrivals) {
  Replay replay(fleet, rule, arrivals);
  std::uint64_t asked = 0;
  std::uint64_t held = 0;
  double at_100 = 0;
  const auto percent = [&](std::uint64_t milli) {
    return 100.0 * static_cast<double>(milli) / static_cast<double>(fleet.milli());
  };
  for (const Pod& pod : arrivals) {
    held += replay.arrive(pod) ? pod.milli() : 0;
    asked += pod.milli();
    at_100 = percent(asked) < 100.5 ? percent(held) : at_100;
  }
  return {at_100, percent(held)};
}

}  // namespace
}  // namespace muster::bench

/// Arguments: nodes.csv list-name seeds; the list is on stdin.
int main(int argc, char** argv) {
  using namespace muster::bench;  // NOLINT
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_openb NODES.csv NAME SEEDS <PODS.csv\n");
    return 2;
  }
  const Fleet fleet(argv[1]);
  const std::vector<Pod> pods = pods_of(std::cin);
  const std::uint64_t seeds = std::strtoull(argv[3], nullptr, 10);
  for (const auto& [rule, name] :
       {std::pair(Rule::kBestFit, "best_fit"), std::pair(Rule::kOnline, "online"),
        std::pair(Rule::kGiven, "given")}) {
    double at_100 = 0;
    double at_130 = 0;
    for (std::uint64_t seed = 42; seed < 42 + seeds; ++seed) {
      const auto [first, second] = held_at(fleet, rule, arrivals_of(pods, fleet.milli(), seed));
      at_100 += first / static_cast<double>(seeds);
      at_130 += second / static_cast<double>(seeds);
    }
    std::printf("figure openb_%s_%s_100 %.2f %%\n", argv[2], name, at_100);
    std::printf("figure openb_%s_%s_130 %.2f %%\n", argv[2], name, at_130);
    std::fflush(stdout);
  }
  return 0;
}
