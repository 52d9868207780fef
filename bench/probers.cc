// One GPU of a fake machine of eight hangs for ever, at a random moment: how soon the prober tells
// that the GPUs are unknown, and how soon it reads the seven others again. Each worker is a process
// with a loop and a fake machine of its own; its probers are this executable once more.
// Arguments: trials, workers.

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/edge/gpu/gpu_prober.h"
#include "agent/edge/gpu/probe.h"
#include "gossip/base/rng.h"
#include "gossip/edge/boot_clock.h"
#include "tests/fakes/nvml/fake_machine.h"

namespace {

using muster::boot_now;
using muster::Duration;
using muster::Instant;
using muster::agent::GpuProber;
using muster::agent::GpuSight;
using muster::agent::ProbeView;

constexpr std::size_t kGpus = 8;

double ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// A loop around one GpuProber.
class Loop {
 public:
  explicit Loop(GpuProber& prober) : prober_(prober) {}

  /// Milliseconds until `is_done`; below zero if that takes longer than a minute.
  double run_until(const std::function<bool()>& is_done) {
    const Instant begin = boot_now();
    while (!is_done()) {
      if (boot_now() - begin > std::chrono::minutes(1)) {
        return -1;
      }
      turn();
    }
    return ms(boot_now() - begin);
  }

  std::size_t seen(GpuSight sight) const {
    return static_cast<std::size_t>(std::count(view_.sights.begin(), view_.sights.end(), sight));
  }
  double longest_call_ms() const { return longest_ms_; }

 private:
  void turn() {
    std::vector<pollfd> polled;
    for (const int fd : prober_.fds()) {
      polled.push_back({fd, POLLIN, 0});
    }
    const auto wait = std::clamp(muster::to_ms(prober_.next_deadline() - boot_now()) + 1,
                                 std::int64_t{0}, std::int64_t{1000});
    poll(polled.data(), polled.size(), static_cast<int>(wait));
    for (const pollfd& one : polled) {
      if (one.revents != 0) {
        timed([&] { prober_.on_readable(boot_now(), one.fd); });
      }
    }
    timed([&] { prober_.on_time(boot_now()); });
    if (auto view = prober_.take_view(); view.has_value()) {
      view_ = std::move(*view);
    }
  }

  void timed(const std::function<void()>& call) {
    const Instant begin = boot_now();
    call();
    longest_ms_ = std::max(longest_ms_, ms(boot_now() - begin));
  }

  GpuProber& prober_;
  ProbeView view_;
  double longest_ms_ = 0;
};

struct Trial {
  double unknown_ms = -1;
  double back_ms = -1;
  double longest_ms = 0;
};

Trial try_once(muster::Rng& rng, const std::string& folder) {
  muster::fakes::FakeMachine machine = muster::fakes::hgx();
  machine.write(folder);
  muster::agent::GpuProberOptions options;
  options.library = MUSTER_FAKE_NVML_NEW;
  options.pci_directory = "/nonexistent";
  options.plan.has_events = false;
  GpuProber prober(options);
  Loop loop(prober);
  Trial trial;
  prober.start(boot_now());
  if (loop.run_until([&] { return loop.seen(GpuSight::kRead) == kGpus; }) < 0) {
    return trial;
  }
  const Instant hang_at = boot_now() + std::chrono::milliseconds(rng.below(1000));
  loop.run_until([&] { return boot_now() >= hang_at; });
  const std::size_t hanging = rng.below(kGpus);
  machine.gpus[hanging]["hang"] = "1";
  machine.write_gpu(folder, hanging);
  const Instant begin = boot_now();
  if (loop.run_until([&] { return loop.seen(GpuSight::kRead) == 0; }) < 0) {
    return trial;
  }
  trial.unknown_ms = ms(boot_now() - begin);
  if (loop.run_until([&] { return loop.seen(GpuSight::kRead) == kGpus - 1; }) >= 0) {
    trial.back_ms = ms(boot_now() - begin);
  }
  trial.longest_ms = loop.longest_call_ms();
  return trial;
}

void work(int trials, std::uint64_t seed, int to) {
  const std::string folder = muster::fakes::make_folder();
  setenv("MUSTER_FAKE_NVML", folder.c_str(), 1);
  muster::Rng rng(seed);
  for (int i = 0; i < trials; ++i) {
    const Trial trial = try_once(rng, folder);
    if (write(to, &trial, sizeof trial) != sizeof trial) {
      break;
    }
  }
  std::filesystem::remove_all(folder);
}

void print(const char* name, std::vector<double> values, double scale, const char* unit) {
  std::sort(values.begin(), values.end());
  std::printf("figure %s %.3f %s\n", name, values.back() * scale, unit);
  std::printf("figure %s_p50 %.3f %s\n", name, values[values.size() / 2] * scale, unit);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "probe") {
    return muster::agent::probe_main(argc, argv);
  }
  const int trials = argc > 1 ? std::atoi(argv[1]) : 200;
  const int workers = std::max(1, argc > 2 ? std::atoi(argv[2]) : 8);
  int ends[2];
  if (pipe(ends) != 0) {
    return 1;
  }
  for (int worker = 0; worker < workers; ++worker) {
    if (fork() == 0) {
      close(ends[0]);
      work(trials / workers + (worker < trials % workers ? 1 : 0),
           static_cast<std::uint64_t>(worker) + 1, ends[1]);
      _exit(0);
    }
  }
  close(ends[1]);
  std::vector<double> unknown;
  std::vector<double> back;
  std::vector<double> longest;
  for (Trial trial; read(ends[0], &trial, sizeof trial) == sizeof trial;) {
    if (trial.unknown_ms >= 0 && trial.back_ms >= 0) {
      unknown.push_back(trial.unknown_ms);
      back.push_back(trial.back_ms);
      longest.push_back(trial.longest_ms);
    }
  }
  while (wait(nullptr) > 0) {
  }
  std::printf("figure prober_trials %zu count\n", unknown.size());
  if (unknown.empty() || unknown.size() != static_cast<std::size_t>(trials)) {
    std::fprintf(stderr, "%d trials, and %zu came to their end\n", trials, unknown.size());
    return 1;
  }
  print("unknown_s", unknown, 0.001, "s");
  print("others_back_s", back, 0.001, "s");
  print("loop_stall_ms", longest, 1, "ms");
  return 0;
}
