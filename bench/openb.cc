// How much of a real fleet's GPUs a packing rule gives away: the openb trace (Alibaba, 2023) as the
// authors of FGD replay it. 1,213 hosts, empty; the pods of one list, shuffled by seed, then drawn
// from it again until 130 % of the fleet were asked for; each is placed at once or dropped, and
// none leaves. What is held in per cent of the fleet, when 100 and 130 % have been asked for.

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

#include "bench/fill_potential.h"
#include "gossip/base/rng.h"

namespace muster::bench {
namespace {

struct Host {
  FillHost free;
  std::uint32_t memory = 0;
  std::uint32_t version = 0;
};
struct Pod {
  FillRequest request;
  std::uint32_t memory = 0;
  auto operator<=>(const Pod&) const = default;
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
      host.free.model = model(row.at(4));
      host.free.cpus = number(row.at(1));
      host.memory = number(row.at(2));
      const std::uint32_t gpus = number(row.at(3));
      std::fill_n(host.free.gpus.begin(), gpus, static_cast<std::uint16_t>(kWhole));
      capacity_.resize(std::max<std::size_t>(capacity_.size(), host.free.model + 1));
      capacity_[host.free.model] += std::uint64_t{gpus} * kWhole;
      milli_ += std::uint64_t{gpus} * kWhole;
      hosts_.push_back(host);
    }
  }

  std::uint32_t model(const std::string& name) {
    return models_.try_emplace(name, static_cast<std::uint32_t>(models_.size())).first->second;
  }
  const std::vector<Host>& hosts() const { return hosts_; }
  const std::vector<std::uint64_t>& capacity() const { return capacity_; }
  std::uint64_t milli() const { return milli_; }

 private:
  std::map<std::string, std::uint32_t> models_;
  std::vector<Host> hosts_;
  std::vector<std::uint64_t> capacity_;
  std::uint64_t milli_ = 0;
};

std::vector<Pod> pods_of(std::istream& in, Fleet& fleet) {
  std::vector<Pod> pods;
  for (const auto& row : rows_of(in)) {
    Pod pod;
    pod.request.cpus = number(row.at(1));
    pod.memory = number(row.at(2));
    pod.request.gpus = number(row.at(3));
    pod.request.share = pod.request.gpus == 0 ? 0 : number(row.at(4));
    if (!row.at(5).empty()) {
      pod.request.models = 0;
      std::stringstream names(row.at(5));
      for (std::string name; std::getline(names, name, '|');) {
        pod.request.models |= std::uint64_t{1} << fleet.model(name);
      }
    }
    pods.push_back(pod);
  }
  return pods;
}

/// In the order in which they arrive.
std::vector<Pod> arrivals_of(std::vector<Pod> pods, std::uint64_t fleet_milli, std::uint64_t seed) {
  Rng rng(seed);
  const std::vector<Pod> list = pods;
  for (std::size_t i = pods.size(); i > 1; --i) {
    std::swap(pods[i - 1], pods[rng.below(i)]);
  }
  const std::uint64_t wanted = fleet_milli * 13 / 10;
  std::uint64_t asked = 0;
  for (const Pod& pod : pods) {
    asked += pod.request.milli();
  }
  while (asked > wanted) {
    const std::size_t out = rng.below(pods.size());
    asked -= pods[out].request.milli();
    pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(out));
  }
  while (true) {
    const Pod& more = list[rng.below(list.size())];
    if (asked + more.request.milli() > wanted) {
      return pods;
    }
    asked += more.request.milli();
    pods.push_back(more);
  }
}

class Replay {
 public:
  Replay(const Fleet& fleet, Rule rule, const std::vector<Pod>& arrivals)
      : rule_(rule), hosts_(fleet.hosts()), potential_(fleet.capacity()) {
    if (rule_ == Rule::kGiven) {
      for (const Pod& pod : arrivals) {
        potential_.learn(pod.request);
      }
      potential_.refresh();
    }
  }

  /// The GPU thousandths that it got.
  std::uint32_t arrive(const Pod& pod) {
    if (rule_ == Rule::kOnline) {
      potential_.learn(pod.request);
      if (++arrived_ >= kLearnedFirst && (arrived_ & (arrived_ - 1)) == 0) {
        potential_.refresh();
        known_.clear();
        has_learned_ = true;
      }
    }
    Host* const best = best_for(pod);
    if (best == nullptr) {
      return 0;
    }
    best->free = placed(best->free, pod.request);
    best->memory -= pod.memory;
    ++best->version;
    return pod.request.milli();
  }

 private:
  static constexpr std::uint64_t kLearnedFirst = 64;
  struct Score {
    std::uint32_t version = UINT32_MAX;
    std::int32_t score = -1;  ///< -1 = it does not fit.
  };

  Host* best_for(const Pod& pod) {
    std::vector<Score>& scores = known_[pod];
    scores.resize(hosts_.size());
    Host* best = nullptr;
    std::pair<std::int32_t, std::int64_t> best_key;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      Host& host = hosts_[i];
      if (scores[i].version != host.version) {
        scores[i] = {host.version, score(host, pod)};
      }
      if (scores[i].score < 0) {
        continue;
      }
      // Of equal score the fullest, then the first.
      const std::pair<std::int32_t, std::int64_t> key(
          -scores[i].score,
          std::int64_t{host.free.cpus} * 8'000 + std::int64_t{host.free.idle()} * 128'000);
      if (best == nullptr || key < best_key) {
        best = &host;
        best_key = key;
      }
    }
    return best;
  }

  std::int32_t score(const Host& host, const Pod& pod) {
    if (pod.memory > host.memory || !fits(host.free, pod.request)) {
      return -1;
    }
    const bool is_known = rule_ == Rule::kGiven || (rule_ == Rule::kOnline && has_learned_);
    return is_known ? static_cast<std::int32_t>(potential_.score(host.free, pod.request)) : 0;
  }

  Rule rule_;
  std::vector<Host> hosts_;
  FillPotential potential_;
  std::uint64_t arrived_ = 0;
  bool has_learned_ = false;
  std::map<Pod, std::vector<Score>> known_;
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
    held += replay.arrive(pod);
    asked += pod.request.milli();
    at_100 = percent(asked) < 100.5 ? percent(held) : at_100;
  }
  return {at_100, percent(held)};
}

}  // namespace
}  // namespace muster::bench

/// nodes.csv list-name seeds, the list on stdin.
int main(int argc, char** argv) {
  using namespace muster::bench;  // NOLINT
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_openb NODES.csv NAME SEEDS <PODS.csv\n");
    return 2;
  }
  Fleet fleet(argv[1]);
  const std::vector<Pod> pods = pods_of(std::cin, fleet);
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
