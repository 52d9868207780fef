// Gangs of whole hosts among small jobs, by the leader's core in virtual time: a fleet of one GPU
// type, 95 % of it asked for, 5 % of that by gangs of a sixteenth to an eighth of the fleet. The
// same jobs twice, with backfill and without. Beside each gang the wait for a drain that knows all
// ends: from its arrival on nothing enters the hosts that are whole first.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/grant_load.h"
#include "bench/led_core.h"
#include "gossip/base/rng.h"

namespace muster::bench {
namespace {

using namespace scheduler;  // NOLINT
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kHostGpus = 8;
constexpr int kMinutesOfDay = 24 * 60;
constexpr double kLoad = 0.95;
constexpr double kGangsPart = 0.05;  ///< Of the load.
constexpr std::size_t kRunClasses = 60;
constexpr int kUnstartedDays = 3;
constexpr std::string_view kGangQueue = "gangs";
constexpr std::string_view kSmallQueue = "small";
/// Of a hundred small jobs, those of 1 to 8 GPUs: 3.4 in the mean.
constexpr std::array<std::uint64_t, kHostGpus> kSmallSizes = {28, 20, 8, 20, 4, 6, 2, 12};

[[noreturn]] void broken(const std::string& why) {
  std::fprintf(stderr, "gangs: %s\n", why.c_str());
  std::exit(1);
}

struct Options {
  int days = 20;
  std::uint64_t seed = 1;
  std::uint32_t hosts = 1024;
  /// Of the queue of the gangs, and a hundred less that of the small jobs. With 50 a gang is next
  /// as soon as it comes, with 5 while no other one runs.
  std::uint32_t gang_weight = 50;
};

/// Times in whole minutes of cluster time.
struct AskedJob {
  int arrives = 0;
  int runs = 0;
  int limit = 0;  ///< Above `runs`.
  std::size_t program = 0;
  std::uint32_t gpus = 0;
  bool is_gang = false;
};

/// Uniform, above 0 and at most 1.
double unit_draw(Rng& rng) {
  return static_cast<double>((rng.next() >> 11) + 1) * 0x1p-53;
}

double normal_draw(Rng& rng) {
  const double radius = std::sqrt(-2 * std::log(unit_draw(rng)));
  return radius * std::cos(2 * std::numbers::pi * unit_draw(rng));
}

struct RunClass {
  double median = 0;  ///< Minutes.
  double spread = 0;  ///< Of the logarithm.

  /// At least a minute, at most a day.
  int draw(Rng& rng) const {
    const double minutes = median * std::exp(spread * normal_draw(rng));
    return static_cast<int>(std::ceil(std::clamp<double>(minutes, 1, kMinutesOfDay)));
  }
};

/// Medians between ten minutes and ten hours, as many in each octave.
std::vector<RunClass> run_classes(Rng& rng) {
  std::vector<RunClass> classes(kRunClasses);
  for (RunClass& each : classes) {
    each.median = 10 * std::pow(60, unit_draw(rng));
    each.spread = 0.3 + 0.7 * unit_draw(rng);
  }
  return classes;
}

std::uint32_t small_gpus(Rng& rng) {
  std::uint64_t draw = rng.below(100);
  std::uint32_t gpus = 1;
  for (; draw >= kSmallSizes[gpus - 1]; ++gpus) {
    draw -= kSmallSizes[gpus - 1];
  }
  return gpus;
}

std::uint32_t gang_gpus(Rng& rng, std::uint32_t fleet_hosts) {
  const std::uint32_t least = std::max(1U, fleet_hosts / 16);
  const std::uint32_t most = std::max(least, fleet_hosts / 8);
  return kHostGpus * (least + static_cast<std::uint32_t>(rng.below(most - least + 1)));
}

/// Poisson arrivals of exactly that load: so many jobs that their work is it, each at a time of
/// its own, all times as likely.
std::vector<AskedJob> asked_jobs(const Options& options) {
  Rng rng(options.seed);
  const std::vector<RunClass> classes = run_classes(rng);
  const int minutes = options.days * kMinutesOfDay;
  const double all = static_cast<double>(options.hosts) * kHostGpus * minutes * kLoad;
  std::vector<AskedJob> jobs;
  for (const bool is_gang : {true, false}) {
    for (double left = all * (is_gang ? kGangsPart : 1 - kGangsPart); left > 0;) {
      AskedJob job;
      job.arrives = static_cast<int>(rng.below(static_cast<std::uint64_t>(minutes)));
      job.program = rng.below(classes.size());
      job.runs = classes[job.program].draw(rng);
      const double slack = 1 + 9 * unit_draw(rng);
      job.limit = std::max(job.runs + 1, static_cast<int>(job.runs * slack));
      job.gpus = is_gang ? gang_gpus(rng, options.hosts) : small_gpus(rng);
      job.is_gang = is_gang;
      left -= static_cast<double>(job.gpus) * job.runs;
      jobs.push_back(job);
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const AskedJob& a, const AskedJob& b) { return a.arrives < b.arrives; });
  return jobs;
}

/// All GPUs and the minutes at which they come back, which nobody but the bench knows.
class KnownEnds {
 public:
  void add_host(const entry::Register& host) {
    for (const std::string& uuid : host.gpus) {
      numbers_.emplace(uuid, ends_.size());
      ends_.push_back(kIsFree);
    }
    if (host.gpus.size() != kHostGpus) {
      broken("a host of another size");
    }
  }
  void take(const Attempt& attempt, int ends) { hold(attempt, kIsFree, ends); }
  void give(const Attempt& attempt, int ends) { hold(attempt, ends, kIsFree); }
  std::uint32_t held() const { return held_; }
  std::size_t gpus() const { return ends_.size(); }

  /// The minute at which so many hosts are whole if nothing enters them; `now` if they are.
  int whole_at(std::uint32_t hosts, int now) const {
    std::vector<int> whole(ends_.size() / kHostGpus, now);
    for (std::size_t gpu = 0; gpu < ends_.size(); ++gpu) {
      int& host = whole[gpu / kHostGpus];
      host = std::max(host, ends_[gpu]);
    }
    const auto last = whole.begin() + (static_cast<std::ptrdiff_t>(hosts) - 1);
    std::nth_element(whole.begin(), last, whole.end());
    return *last;
  }

 private:
  static constexpr int kIsFree = -1;

  void hold(const Attempt& attempt, int before, int after) {
    for (const MemberRecord& record : attempt.members) {
      for (const GpuSlot& gpu : record.member.gpus) {
        int& ends = ends_[numbers_.at(gpu.uuid)];
        if (ends != before) {
          broken("GPU " + gpu.uuid.text() + " is held twice");
        }
        ends = after;
        held_ = after == kIsFree ? held_ - 1 : held_ + 1;
      }
    }
  }

  std::map<GpuUuid, std::size_t> numbers_;  ///< GPUs of a host are side by side.
  std::vector<int> ends_;
  std::uint32_t held_ = 0;
};

/// Calls of the leader's core and the time that they took.
struct Cost {
  std::uint64_t count = 0;
  double us = 0;
  double each() const { return count == 0 ? 0 : us / static_cast<double>(count); }

  template <class Call>
  void add(const Call& call) {
    const Clock::time_point begin = Clock::now();
    call();
    us += std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
};

SchedulerConfig config_of(bool has_backfill) {
  SchedulerConfig config;
  config.backfill = has_backfill;
  return config;
}

/// One run of all jobs. A minute goes: ends, arrivals, and time until the next one with an event.
class GangFleet {
 public:
  GangFleet(const Options& options, const std::vector<AskedJob>& jobs, bool has_backfill)
      : jobs_(jobs),
        is_strict_(!has_backfill),
        end_(options.days * kMinutesOfDay),
        led_(config_of(has_backfill)),
        starts_(jobs.size(), kNotYet) {
    plain_.spec.command.environment.clear();
    plain_.spec.command.argv.resize(1);
    plain_.spec.command.directory.clear();
    GrantLoad hosts(options.hosts * kHostGpus);
    while (std::optional<std::string> host = hosts.next_host()) {
      known_.add_host(std::get<entry::Register>(decode_entry(*host).value().entry));
      led_.apply(std::move(*host));
    }
    entry::SetQueues queues;
    queues.tree.nodes.resize(2);
    queues.tree.nodes[0].path = kGangQueue;
    queues.tree.nodes[0].weight = options.gang_weight;
    queues.tree.nodes[1].path = kSmallQueue;
    queues.tree.nodes[1].weight = 100 - options.gang_weight;
    led_.apply(encode(queues));
    if (!led_.state().queues().is_set()) {
      broken("the log takes no such tree");
    }
    led_.lead();
  }

  void play() {
    while (minute_ < end_) {
      end_jobs();
      submit_jobs();
      const int next = next_minute();
      const int measured = next - std::clamp(kMinutesOfDay, minute_, next);
      held_minutes_ += static_cast<double>(known_.held()) * measured;
      ++ticks_.count;
      ticks_.add([&] { led_.tick(std::chrono::minutes(next - minute_)); });
      minute_ = next;
      start_decided();
    }
  }

  /// Minutes, of gangs or of small jobs; those that did not start have waited until the end.
  std::vector<double> waits(bool are_gangs) const {
    std::vector<double> waits;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      if (jobs_[job].is_gang == are_gangs) {
        waits.push_back((starts_[job] == kNotYet ? end_ : starts_[job]) - jobs_[job].arrives);
      }
    }
    return waits;
  }
  /// Minutes that each gang would wait for the drain.
  const std::vector<double>& drains() const { return drains_; }
  /// Gangs that still wait and have for more than kUnstartedDays.
  std::size_t unstarted() const {
    const auto is_old = [&](std::size_t job) {
      return end_ - jobs_[job].arrives > kUnstartedDays * kMinutesOfDay;
    };
    return static_cast<std::size_t>(std::count_if(waiting_[1].begin(), waiting_[1].end(), is_old));
  }
  std::size_t waiting() const { return waiting_[0].size() + waiting_[1].size(); }
  /// In per cent of all GPUs, after the first day.
  double used() const {
    const int measured = std::max(1, end_ - kMinutesOfDay);
    return held_minutes_ * 100 / (static_cast<double>(known_.gpus()) * measured);
  }
  /// Of each Decide, with what it takes to submit, start and end its job.
  const Cost& decides() const { return decides_; }
  const Cost& ticks() const { return ticks_; }

 private:
  static constexpr int kNotYet = -1;
  struct Running {
    int ends = 0;
    Token token;
    bool operator<(const Running& other) const { return ends > other.ends; }
  };

  void submit_jobs() {
    for (; arrived_ < jobs_.size() && jobs_[arrived_].arrives <= minute_; ++arrived_) {
      const AskedJob& job = jobs_[arrived_];
      JobSpec spec = plain_.spec;
      spec.queue = job.is_gang ? kGangQueue : kSmallQueue;
      spec.command.argv.front() = "program" + std::to_string(job.program);
      spec.request.gpus = job.gpus;
      spec.request.gpus_per_host = job.is_gang ? kHostGpus : 0;
      spec.limits.time_limit = std::chrono::minutes(job.limit);
      if (job.is_gang) {
        drains_.push_back(known_.whole_at(job.gpus / kHostGpus, minute_) - minute_);
      }
      waiting_[job.is_gang ? 1 : 0].insert(arrived_);
      const std::uint64_t number = arrived_ + 1;
      decides_.add([&] {
        led_.submit(number, "job " + std::to_string(number), std::move(spec));
        led_.settle();
      });
      if (led_.state().job(JobId(number)) == nullptr) {
        broken("the log refuses job " + std::to_string(number));
      }
      start_decided();
    }
  }

  void start_decided() {
    for (auto tokens = led_.take_decided(); !tokens.empty(); tokens = led_.take_decided()) {
      for (const Token& token : tokens) {
        const Attempt& attempt = *led_.state().attempt(token);
        const std::size_t job = attempt.job.value() - 1;
        note_start(job, attempt);
        const int ends = minute_ + jobs_[job].runs;
        known_.take(attempt, ends);
        running_.push({ends, token});
        ++decides_.count;
        decides_.add([&] { led_.start(token); });
      }
    }
  }

  void note_start(std::size_t job, const Attempt& attempt) {
    std::set<std::size_t>& queue = waiting_[jobs_[job].is_gang ? 1 : 0];
    const std::string name = "job " + std::to_string(job + 1);
    if (is_strict_ && !queue.empty() && job != *queue.begin()) {
      broken(name + " starts before job " + std::to_string(*queue.begin() + 1));
    }
    if (queue.erase(job) == 0) {
      broken(name + " starts twice");
    }
    std::size_t gpus = 0;
    for (const MemberRecord& record : attempt.members) {
      gpus += record.member.gpus.size();
      if (jobs_[job].is_gang && record.member.gpus.size() != kHostGpus) {
        broken(name + " starts on a part of a host");
      }
    }
    if (gpus != jobs_[job].gpus) {
      broken(name + " starts on other GPUs than it asked for");
    }
    starts_[job] = minute_;
  }

  void end_jobs() {
    while (!running_.empty() && running_.top().ends <= minute_) {
      const auto [ends, token] = running_.top();
      running_.pop();
      const Attempt* attempt = led_.state().attempt(token);
      if (attempt == nullptr || attempt->state != AttemptState::kStarted) {
        broken("an attempt ended before its job did");
      }
      const JobId id = attempt->job;
      known_.give(*attempt, ends);
      decides_.add([&] { led_.finish(token); });
      const Job* job = led_.state().job(id);
      if (job == nullptr || job->life.state != JobState::kCompleted) {
        broken("job " + std::to_string(id.value()) + " did not end well");
      }
      start_decided();
    }
  }

  /// That of the next arrival or end; but while something waits time goes on by single minutes.
  int next_minute() const {
    int next = waiting() != 0 ? minute_ + 1 : end_;
    next = arrived_ < jobs_.size() ? std::min(next, jobs_[arrived_].arrives) : next;
    next = running_.empty() ? next : std::min(next, running_.top().ends);
    return std::min(end_, std::max(next, minute_ + 1));
  }

  const std::vector<AskedJob>& jobs_;
  bool is_strict_;
  int end_;
  LedCore led_;
  entry::Submit plain_ = std::get<entry::Submit>(decode_entry(GrantLoad::submit(0)).value().entry);
  KnownEnds known_;
  int minute_ = 0;
  std::size_t arrived_ = 0;
  std::vector<int> starts_;                         ///< Minutes, by job.
  std::array<std::set<std::size_t>, 2> waiting_{};  ///< Small jobs; gangs.
  std::priority_queue<Running> running_;
  std::vector<double> drains_;
  double held_minutes_ = 0;  ///< Of GPUs, after the first day.
  Cost decides_;
  Cost ticks_;
};

double p99(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(values.size())));
  return values.empty() ? 0 : values[std::max<std::size_t>(rank, 1) - 1];
}

double mean(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// 1 if both are 0: they are the same.
double ratio(double one, double other) {
  return other != 0 ? one / other : one == 0 ? 1 : std::numeric_limits<double>::infinity();
}

/// Figures that stand for one run alone.
void tell(const GangFleet& fleet, const char* suffix) {
  std::printf("figure used%s %.2f %%\n", suffix, fleet.used());
  std::printf("figure gangs_unstarted%s %zu\n", suffix, fleet.unstarted());
  std::printf("figure gang_p99%s %.2f h\n", suffix, p99(fleet.waits(true)) / 60);
  std::printf("figure small_mean%s %.2f min\n", suffix, mean(fleet.waits(false)));
  std::printf("figure gang_us%s %.1f us\n", suffix, fleet.decides().each());
  std::printf("figure gang_tick_us%s %.1f us\n", suffix, fleet.ticks().each());
  std::printf("# %llu decided, %zu wait at the end\n",
              static_cast<unsigned long long>(fleet.decides().count), fleet.waiting());
  std::fflush(stdout);
}

void run(const Options& options) {
  const std::vector<AskedJob> jobs = asked_jobs(options);
  GangFleet with(options, jobs, true);
  std::printf("# %zu jobs\n", jobs.size());
  std::fflush(stdout);
  with.play();
  tell(with, "");
  GangFleet without(options, jobs, false);
  without.play();
  tell(without, "_off");
  const double gang_p99 = p99(with.waits(true));
  std::printf("# %zu gangs; the p99 of fewer than a hundred is the maximum\n",
              with.drains().size());
  std::printf("figure drain_p99 %.2f h\n", p99(with.drains()) / 60);
  std::printf("figure gang_p99_ratio %.3f\n", ratio(gang_p99, p99(without.waits(true))));
  std::printf("figure gang_p99_drain %.3f\n", ratio(gang_p99, p99(with.drains())));
  std::printf("figure small_mean_ratio %.3f\n",
              ratio(mean(with.waits(false)), mean(without.waits(false))));
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  muster::bench::Options options;
  options.days = argc > 1 ? std::atoi(argv[1]) : options.days;
  options.seed = argc > 2 ? static_cast<std::uint64_t>(std::atoll(argv[2])) : options.seed;
  options.hosts = argc > 3 ? static_cast<std::uint32_t>(std::atoi(argv[3])) : options.hosts;
  options.gang_weight =
      argc > 4 ? static_cast<std::uint32_t>(std::atoi(argv[4])) : options.gang_weight;
  if (options.days < 1 || options.hosts < 16 || options.gang_weight < 1 ||
      options.gang_weight > 99) {
    std::fprintf(stderr, "usage: bench_gangs DAYS SEED HOSTS WEIGHT: >= 1, any, >= 16, 1 to 99\n");
    return 2;
  }
  muster::bench::run(options);
  return 0;
}
