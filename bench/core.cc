// The scheduler's core as in production, on one core: the leader's machine with its state, its
// entries encoded, applied and hashed, and its messages made; no disk, no peers, no agents. 12,500
// hosts of 8 GPUs, jobs that come and go.

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "bench/grant_load.h"
#include "bench/led_core.h"
#include "gossip/base/rng.h"
#include "scheduler/leader/scheduler.h"

namespace muster::bench {
namespace {

using namespace scheduler;  // NOLINT
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kHosts = 12'500;
constexpr std::uint32_t kHostsARack = 32;
constexpr std::uint32_t kAllGpus = kHosts * 8;
/// Pending jobs of a deep queue. On a full fleet KeptBytesMax::unfinished_jobs admits some 96,000
/// beside those that run.
constexpr std::size_t kDeep = 90'000;
/// Queues at the top, if users have leaves of their own.
constexpr std::uint32_t kQueues = 40;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double percentile(std::vector<double>& times, double part) {
  std::sort(times.begin(), times.end());
  const auto place = static_cast<std::size_t>(part * static_cast<double>(times.size()));
  return times.empty() ? 0 : times[std::min(times.size() - 1, place)];
}

template <class E>
E entry_of(std::string bytes) {
  return std::get<E>(decode_entry(std::move(bytes)).value().entry);
}

class Core {
 public:
  /// `leaves`: users, each of them in one of kQueues queues; 1: nobody set queues.
  explicit Core(std::uint32_t leaves) : rng_(1), leaves_(leaves) {
    GrantLoad hosts(kAllGpus);
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      auto fact = entry_of<entry::Register>(*hosts.next_host());
      fact.gpu_type = std::string(1, static_cast<char>('A' + host / kHostsARack % 3));
      led_.apply(encode(fact));
    }
    if (leaves_ > 1) {
      entry::SetQueues fact;
      for (std::uint32_t queue = 0; queue < kQueues; ++queue) {
        fact.tree.nodes.emplace_back().path = "q" + std::to_string(100 + queue);
      }
      led_.apply(encode(fact));
    }
    led_.lead();
  }

  /// The GPUs asked for, and how long the submit took until its Decide was applied.
  std::pair<std::uint32_t, double> submit() {
    ++submits_;
    JobSpec spec = plain_.spec;
    const std::uint64_t draw = rng_.below(100);
    spec.request.gpus = draw < 48   ? 1
                        : draw < 68 ? 2
                        : draw < 88 ? 4
                        : draw < 98 ? 8
                                    : static_cast<std::uint32_t>(8 * (8 + rng_.below(57)));
    spec.request.gpu_types.clear();
    if (rng_.below(4) != 0) {
      spec.request.gpu_types.emplace_back(1, static_cast<char>('A' + rng_.below(3)));
    }
    if (leaves_ > 1) {
      const std::uint64_t user = rng_.below(leaves_);
      spec.user = "u" + std::to_string(user);
      spec.queue = "q" + std::to_string(100 + user % kQueues);
    }
    const std::uint32_t gpus = spec.request.gpus;
    std::string key = plain_.key + std::to_string(submits_);
    const Clock::time_point begin = Clock::now();
    led_.submit(submits_, std::move(key), std::move(spec));
    led_.settle();
    return {gpus, us_since(begin)};
  }

  /// Attempts decided since the last call become ready and start.
  void start_all() {
    for (const Token& token : led_.take_decided()) {
      std::uint32_t gpus = 0;
      for (const MemberRecord& record : led_.state().attempt(token)->members) {
        gpus += static_cast<std::uint32_t>(record.member.gpus.size());
      }
      led_.start(token);
      used_ += gpus;
      running_.push_back({token, gpus});
    }
  }

  /// The bytes of its entry, its bytes in the snapshot, and how long it took.
  std::pair<std::size_t, double> submit_array(std::uint32_t tasks) {
    const std::size_t before = led_.state().encode().size();
    JobSpec spec = plain_.spec;
    spec.request.gpus = 1;
    spec.array = ArrayRange{0, tasks - 1, 0};
    const Clock::time_point begin = Clock::now();
    led_.submit(++submits_, "array", std::move(spec));
    std::string entry = std::move(led_.take_proposals().at(0));
    const std::size_t logged = entry.size();
    led_.apply(std::move(entry));
    led_.settle();
    const double us = us_since(begin);
    return {logged + led_.state().encode().size() - before, us};
  }
  /// Submits jobs with small specs, so that as many wait as the limits allow.
  void say_little() {
    plain_.spec.command.environment.clear();
    plain_.spec.command.argv.resize(1);
    plain_.spec.command.directory.clear();
  }
  void end_one() {
    std::swap(running_[rng_.below(running_.size())], running_.back());
    end_last();
  }
  /// One of at most 8 GPUs.
  void end_small() {
    do {
      std::swap(running_[rng_.below(running_.size())], running_.back());
    } while (running_.back().gpus > 8);
    end_last();
  }
  void end_last() {
    const Running job = running_.back();
    running_.pop_back();
    used_ -= job.gpus;
    led_.finish(job.token);
  }

  double load() const { return static_cast<double>(used_) / kAllGpus; }
  std::size_t running() const { return running_.size(); }
  std::size_t pending() const { return led_.scheduler().state().pending(); }
  std::uint64_t entries() const { return led_.entries(); }
  std::uint64_t tried() const { return led_.scheduler().capacity().tried(); }

 private:
  struct Running {
    Token token;
    std::uint32_t gpus = 0;
  };

  LedCore led_;
  Rng rng_;
  const std::uint32_t leaves_;
  std::uint64_t submits_ = 0;
  entry::Submit plain_ = entry_of<entry::Submit>(GrantLoad::submit(0));
  std::vector<Running> running_;
  std::uint32_t used_ = 0;
};

void run(double load, const std::string& name, int jobs, std::uint32_t leaves) {
  Core core(leaves);
  while (core.load() < load && core.pending() == 0) {
    core.submit();
    core.start_all();
  }
  std::vector<double> small;
  std::vector<double> a_gpu;
  double longest = 0;
  const std::uint64_t entries = core.entries();
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < jobs; ++i) {
    const auto [gpus, took] = core.submit();
    longest = std::max(longest, took);
    (gpus <= 8 ? small : a_gpu).push_back(gpus <= 8 ? took : took / gpus);
    core.start_all();
    while (core.load() > load || (core.pending() > 0 && core.running() > 0)) {
      core.end_one();
      core.start_all();
    }
  }
  const double seconds = us_since(begin) / 1e6;
  std::printf("figure decisions_per_s_%s %.0f 1/s\n", name.c_str(), jobs / seconds);
  std::printf("figure decision_p50_us_%s %.1f us\n", name.c_str(), percentile(small, 0.5));
  std::printf("figure decision_p99_us_%s %.1f us\n", name.c_str(), percentile(small, 0.99));
  std::printf("figure gang_us_a_gpu_%s %.2f us\n", name.c_str(), percentile(a_gpu, 0.99));
  std::printf("figure decision_max_us_%s %.0f us\n", name.c_str(), longest);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("figure core_rss_mb_%s %.0f MB\n", name.c_str(),
              static_cast<double>(usage.ru_maxrss) / 1024);
  std::printf("# %s: %zu running, %.1f entries a job\n", name.c_str(), core.running(),
              static_cast<double>(core.entries() - entries) / jobs);
}

struct Depth {
  double tried = 0;  ///< Placements for each event.
  double us = 0;     ///< Microseconds for each event.
};

/// Submits jobs until this many wait.
void fill(Core& core, std::size_t pending) {
  for (std::size_t refused = 0; core.pending() < pending;) {
    const std::uint64_t entries = core.entries();
    core.submit();
    core.start_all();
    refused += core.entries() == entries ? 1 : 0;
    if (refused > 100) {
      std::fprintf(stderr, "core: only %zu jobs may wait\n", core.pending());
      std::exit(1);
    }
  }
}

/// On a full fleet with pending jobs: a job of at most 8 GPUs ends, and the queue is tried.
Depth depth(std::size_t pending, int events, std::uint32_t leaves) {
  Core core(leaves);
  core.say_little();
  fill(core, pending);
  Depth seen;
  for (int i = 0; i < events; ++i) {
    const std::uint64_t tried = core.tried();
    const Clock::time_point begin = Clock::now();
    core.end_small();
    seen.us += us_since(begin) / events;
    seen.tried += static_cast<double>(core.tried() - tried) / events;
    core.start_all();
    fill(core, pending);
  }
  std::printf("# depth %zu: %.2f placements and %.1f us an event\n", core.pending(), seen.tried,
              seen.us);
  return seen;
}

void run_depth(int events, const char* name, std::uint32_t leaves) {
  const Depth shallow = depth(100, events, leaves);
  const Depth deep = depth(kDeep, events, leaves);
  std::printf("figure depth_attempts_ratio%s %.2f\n", name, deep.tried / shallow.tried);
  std::printf("figure depth_us%s %.1f us\n", name, deep.us);
  std::printf("figure depth_us_ratio%s %.2f\n", name, deep.us / shallow.us);
}

/// An array of a million tasks on a full fleet: the time from the submit until its entry is
/// applied, and its bytes in log and state before a task of it ran.
void run_array() {
  Core core(1);
  core.say_little();
  fill(core, 100);
  const auto [bytes, us] = core.submit_array(kTasksMax);
  std::printf("figure array_bytes %zu B\n", bytes);
  std::printf("figure array_submit_ms %.3f ms\n", us / 1e3);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 30'000;
  if (argc > 2) {
    const auto leaves = static_cast<std::uint32_t>(std::atoi(argv[2]));
    const std::string name = "_" + std::to_string(leaves);
    muster::bench::run(0.7, "70" + name, jobs, leaves);
    muster::bench::run(0.95, "95" + name, jobs, leaves);
    muster::bench::run_depth(2'000, name.c_str(), leaves);
    return 0;
  }
  muster::bench::run(0.7, "70", jobs, 1);
  muster::bench::run(0.95, "95", jobs, 1);
  muster::bench::run_depth(2'000, "", 1);
  muster::bench::run_array();
  return 0;
}
