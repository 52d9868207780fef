// Shares of random trees of queues, by the leader's core: 999 hosts of three GPU types, jobs that
// come and go for two days of cluster time, a third of the leaves with bounded demand. The mean of
// each queue over the second day beside weighted max-min fairness of the same demands.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "bench/grant_load.h"
#include "bench/led_core.h"
#include "gossip/base/rng.h"

namespace muster::bench {
namespace {

using namespace scheduler;  // NOLINT

constexpr std::uint32_t kHostsAType = 333;
constexpr std::array<std::string_view, 3> kTypes = {"a100", "h100", "l40"};
constexpr std::uint32_t kGpusAType = kHostsAType * 8;
constexpr int kMinutesADay = 24 * 60;
/// Of a leaf without bound, for each type: more than start in a minute.
constexpr std::uint32_t kWaitingGpus = 128;
constexpr double kUnbounded = 1e9;

struct TreeQueue {
  std::string path;
  double weight = 1;
  std::vector<std::size_t> children;
  std::array<double, kTypes.size()> demand{};  ///< GPUs; of a leaf.
};

/// A random tree of at most three levels. Queue 0 is the root.
std::vector<TreeQueue> random_tree(Rng& rng) {
  std::vector<TreeQueue> queues(1);
  const std::function<void(std::size_t, int)> grow = [&](std::size_t parent, int depth) {
    const std::uint64_t children =
        depth == 0 ? 2 + rng.below(4) : rng.below(5 - static_cast<std::uint64_t>(depth));
    for (std::uint64_t i = 0; i < children; ++i) {
      TreeQueue queue;
      queue.path = queues[parent].path + (depth == 0 ? "" : "/") + "q" + std::to_string(i);
      queue.weight = static_cast<double>(1 + rng.below(10));
      queues[parent].children.push_back(queues.size());
      queues.push_back(std::move(queue));
      if (depth < 2) {
        grow(queues.size() - 1, depth + 1);
      }
    }
  };
  grow(0, 0);
  for (TreeQueue& queue : queues) {
    const bool is_bounded = rng.below(3) == 0;
    for (double& demand : queue.demand) {
      demand = rng.below(5) == 0 ? 0
               : is_bounded      ? static_cast<double>(8 + rng.below(kGpusAType / 8))
                                 : kUnbounded;
    }
  }
  return queues;
}

/// Weighted max-min fairness: the parts of all queues of `parts[at]` GPUs of one type.
void fill(const std::vector<TreeQueue>& queues, std::size_t type, std::size_t at,
          const std::vector<double>& demands, std::vector<double>& parts) {
  double left = parts[at];
  std::vector<std::size_t> open = queues[at].children;
  while (!open.empty()) {
    double weights = 0;
    for (const std::size_t child : open) {
      weights += queues[child].weight;
    }
    const auto full = std::find_if(open.begin(), open.end(), [&](std::size_t child) {
      return demands[child] <= left * queues[child].weight / weights;
    });
    if (full != open.end()) {
      parts[*full] = demands[*full];
      left -= demands[*full];
      open.erase(full);
      continue;
    }
    for (const std::size_t child : open) {
      parts[child] = left * queues[child].weight / weights;
    }
    open.clear();
  }
  for (const std::size_t child : queues[at].children) {
    fill(queues, type, child, demands, parts);
  }
}

double sum_demands(const std::vector<TreeQueue>& queues, std::size_t type, std::size_t at,
                   std::vector<double>& demands) {
  double sum = queues[at].children.empty() ? queues[at].demand[type] : 0;
  for (const std::size_t child : queues[at].children) {
    sum += sum_demands(queues, type, child, demands);
  }
  demands[at] = sum;
  return sum;
}

class SharedFleet {
 public:
  SharedFleet(std::uint64_t seed, bool has_gangs)
      : has_gangs_(has_gangs), rng_(seed), tree_(random_tree(rng_)) {
    GrantLoad hosts(kGpusAType * kTypes.size());
    for (std::uint32_t host = 0; host < kHostsAType * kTypes.size(); ++host) {
      auto fact = std::get<entry::Register>(decode_entry(*hosts.next_host()).value().entry);
      fact.gpu_type = std::string(kTypes[host % kTypes.size()]);
      led_.apply(encode(fact));
    }
    entry::SetQueues queues;
    queues.tree.half_life = std::chrono::hours(24);
    for (const TreeQueue& queue : tree_) {
      if (!queue.path.empty()) {
        QueueNode node;
        node.path = queue.path;
        node.weight = static_cast<std::uint32_t>(queue.weight);
        queues.tree.nodes.push_back(std::move(node));
      }
    }
    std::sort(queues.tree.nodes.begin(), queues.tree.nodes.end(),
              [](const QueueNode& a, const QueueNode& b) { return path_less(a.path, b.path); });
    led_.apply(encode(queues));
    if (!led_.state().queues().is_set()) {
      std::fprintf(stderr, "share: the log takes no such tree\n");
      std::exit(1);
    }
    led_.lead();
    waiting_.resize(tree_.size());
    present_.resize(tree_.size());
    means_.resize(tree_.size());
  }

  /// Days of cluster time. The first one is not measured.
  void run(int days) {
    for (minute_ = 0; minute_ < days * kMinutesADay; ++minute_) {
      end_jobs();
      do {
        submit_jobs();
        start_jobs();
      } while (minute_ == 0 && used_ > std::exchange(used_before_, used_));
      led_.tick(std::chrono::minutes(1));
      if (minute_ >= kMinutesADay) {
        measure();
      }
    }
  }

  /// The worst difference of a queue from its part, in per cent of the GPUs of the type.
  double error() const {
    double worst = 0;
    for (std::size_t type = 0; type < kTypes.size(); ++type) {
      std::vector<double> demands(tree_.size());
      std::vector<double> parts(tree_.size());
      parts[0] = std::min<double>(kGpusAType, sum_demands(tree_, type, 0, demands));
      fill(tree_, type, 0, demands, parts);
      for (std::size_t i = 1; i < tree_.size(); ++i) {
        const double mean = means_[i][type] / static_cast<double>(measured_);
        worst = std::max(worst, std::abs(mean - parts[i]) * 100 / kGpusAType);
      }
    }
    return worst;
  }
  /// GPUs held of those that were asked for, in per cent.
  double used() const {
    double held = 0;
    double wanted = 0;
    for (std::size_t type = 0; type < kTypes.size(); ++type) {
      std::vector<double> demands(tree_.size());
      wanted += std::min<double>(kGpusAType, sum_demands(tree_, type, 0, demands));
      held += means_[0][type] / static_cast<double>(measured_);
    }
    return held * 100 / wanted;
  }
  std::size_t queues() const { return tree_.size() - 1; }
  std::uint64_t jobs() const { return submits_; }

 private:
  struct Running {
    int ends = 0;
    Token token;
    bool operator<(const Running& other) const { return ends > other.ends; }
  };
  struct Waiting {
    std::size_t queue = 0;
    std::size_t type = 0;
    std::uint32_t gpus = 0;
  };

  std::uint32_t random_gpus() {
    if (has_gangs_ && rng_.below(20) == 0) {
      return static_cast<std::uint32_t>(8 * (2 + rng_.below(kGpusAType / 50 / 8 - 1)));
    }
    return static_cast<std::uint32_t>(1 + rng_.below(8));
  }

  void submit_jobs() {
    for (std::size_t queue = 1; queue < tree_.size(); ++queue) {
      for (std::size_t type = 0; tree_[queue].children.empty() && type < kTypes.size(); ++type) {
        const double demand = tree_[queue].demand[type];
        const bool is_bounded = demand < kUnbounded;
        const auto bound = is_bounded ? static_cast<std::uint32_t>(demand) : 0;
        while (is_bounded ? present_[queue][type] < bound : waiting_[queue][type] < kWaitingGpus) {
          const std::uint32_t gpus = random_gpus();
          submit({queue, type, is_bounded ? std::min(gpus, bound - present_[queue][type]) : gpus});
        }
      }
    }
    led_.settle();
  }

  void submit(const Waiting& job) {
    JobSpec spec = plain_.spec;
    spec.request.gpus = job.gpus;
    spec.request.gpu_types = {std::string(kTypes[job.type])};
    spec.queue = tree_[job.queue].path;
    ++submits_;
    led_.submit(submits_, "job " + std::to_string(submits_), std::move(spec));
    led_.settle();
    waiting_[job.queue][job.type] += job.gpus;
    present_[job.queue][job.type] += job.gpus;
    jobs_.emplace(submits_, job);
  }

  void start_jobs() {
    for (const Token& token : led_.take_decided()) {
      const Waiting& job = jobs_.at(led_.state().attempt(token)->job.value());
      led_.start(token);
      waiting_[job.queue][job.type] -= job.gpus;
      used_ += job.gpus;
      // The first ones have run for a while.
      const auto whole = static_cast<int>(60 + rng_.below(5 * 60));
      const auto rest = 1 + static_cast<int>(rng_.below(static_cast<std::uint64_t>(whole)));
      running_.push({minute_ + (minute_ == 0 ? rest : whole), token});
    }
  }

  void end_jobs() {
    while (!running_.empty() && running_.top().ends <= minute_) {
      const Token token = running_.top().token;
      running_.pop();
      const JobId id = led_.state().attempt(token)->job;
      led_.finish(token);
      const Waiting job = jobs_.at(id.value());
      jobs_.erase(id.value());
      present_[job.queue][job.type] -= job.gpus;
      used_ -= job.gpus;
    }
  }

  void measure() {
    ++measured_;
    for (std::size_t i = 0; i < tree_.size(); ++i) {
      const QueueNumber number =
          i == 0 ? kRootQueue : led_.state().queues().number_of(tree_[i].path);
      for (std::size_t type = 0; type < kTypes.size(); ++type) {
        const Share share = led_.state().shares().share(number, kTypes[type]);
        means_[i][type] += static_cast<double>(share.held) / 1000;
      }
    }
  }

  bool has_gangs_;
  Rng rng_;
  std::vector<TreeQueue> tree_;
  LedCore led_;
  entry::Submit plain_ = std::get<entry::Submit>(decode_entry(GrantLoad::submit(0)).value().entry);
  int minute_ = 0;
  int measured_ = 0;
  std::uint64_t submits_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t used_before_ = 0;
  std::map<std::uint64_t, Waiting> jobs_;  ///< By number.
  std::priority_queue<Running> running_;
  std::vector<std::array<std::uint32_t, kTypes.size()>> waiting_;  ///< GPUs.
  std::vector<std::array<std::uint32_t, kTypes.size()>> present_;  ///< GPUs, running ones too.
  std::vector<std::array<double, kTypes.size()>> means_;           ///< Sums of GPUs.
};

void run(int trees, std::uint64_t seed, bool has_gangs) {
  const char* const suffix = has_gangs ? "_gangs" : "";
  double worst = 0;
  double least_used = 100;
  for (int tree = 0; tree < trees; ++tree) {
    SharedFleet fleet(seed + static_cast<std::uint64_t>(tree), has_gangs);
    fleet.run(2);
    worst = std::max(worst, fleet.error());
    least_used = std::min(least_used, fleet.used());
    std::printf("# tree %d%s: %zu queues, %llu jobs: worst %.3f %%, %.1f %% used\n", tree, suffix,
                fleet.queues(), static_cast<unsigned long long>(fleet.jobs()), fleet.error(),
                fleet.used());
    std::fflush(stdout);
  }
  std::printf("figure share_error%s %.3f %%\n", suffix, worst);
  std::printf("figure share_used%s %.1f %%\n", suffix, least_used);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const int trees = argc > 1 ? std::atoi(argv[1]) : 20;
  const auto seed = static_cast<std::uint64_t>(argc > 2 ? std::atoll(argv[2]) : 1);
  muster::bench::run(trees, seed, false);
  muster::bench::run(trees, seed, true);
  return 0;
}
