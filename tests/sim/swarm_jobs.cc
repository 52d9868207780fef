#include "tests/sim/swarm_jobs.h"

#include <algorithm>
#include <iterator>

#include "tests/sim/mixed_requests.h"
#include "tests/sim/queue_owners.h"
#include "tests/sim/queue_trees.h"

namespace muster::sim {
namespace {

constexpr Duration kFirstFlood = std::chrono::seconds(5);
/// After the faults: all hosts are back by then, mostly.
constexpr Duration kLastFloodsAfter = std::chrono::seconds(8);
constexpr std::uint64_t kFloodMin = 30;
constexpr std::uint64_t kFloodUsual = 20;  ///< Jobs above that, mostly.
constexpr std::uint64_t kFloodMore = 170;
constexpr std::uint32_t kLongJobs = 4;
constexpr std::uint32_t kGpusPerHost = 8;

Duration seconds_between(Rng& rng, std::int64_t low, std::int64_t high) {
  return rng.between(std::chrono::seconds(low), std::chrono::seconds(high));
}

std::string run_word(std::uint64_t ms) {
  return "run_ms=" + std::to_string(ms);
}

}  // namespace

scheduler::JobSpec some_job(const SwarmProfile& profile, std::uint32_t hosts, Rng& rng,
                            Rng& requests) {
  static constexpr std::uint32_t kSizes[] = {1, 1, 2, 4, 8, 8, 16, 16, 24, 32};
  scheduler::JobSpec spec;
  spec.name = "swarm";
  spec.request.gpus =
      std::min({kSizes[rng.below(std::size(kSizes))], hosts * 8 / 2, profile.gpus_max});
  const auto run_ms = static_cast<std::uint64_t>(profile.run_ms_max - profile.run_ms_min);
  const std::int64_t run = profile.run_ms_min + static_cast<std::int64_t>(rng.below(run_ms));
  spec.command.argv = {"sim", "run_ms=" + std::to_string(run)};
  spec.retry.retries = static_cast<std::uint32_t>(rng.below(3));
  spec.limits.hold = rng.between(profile.hold_min, profile.hold_max);
  spec.limits.grace = seconds_between(rng, 1, 5);
  spec.limits.patience = seconds_between(rng, 1, 5);
  spec.retry.on_lost_host =
      rng.chance(200'000) ? scheduler::OnLostHost::kWait : scheduler::OnLostHost::kRequeue;
  if (profile.priorities > 1) {
    spec.priority = static_cast<std::int32_t>(rng.below(profile.priorities));
  }
  spec.limits.keep_when_isolated = profile.keep > 0 && rng.chance(profile.keep);
  const std::uint64_t kind = rng.below(10);
  if (kind == 0) {
    spec.command.argv.push_back("fail_rank=" + std::to_string(rng.below(spec.request.gpus)));
  } else if (kind == 1) {
    spec.command.argv.push_back("ignore_term=1");
  } else if (kind == 2) {
    spec.command.argv.push_back("exit_on_term=0");
  } else if (kind == 3) {
    spec.limits.time_limit = seconds_between(rng, 5, 20);
  }
  ask_for_more(spec, requests, profile.requests);
  ask_for_queue(spec, requests, profile.queues);
  return spec;
}

void Floods::plan(Instant quiet_at, SubmitsKept& submits) {
  static constexpr scheduler::Tier kTiers[] = {
      scheduler::Tier::kInference, scheduler::Tier::kPremium, scheduler::Tier::kStandard,
      scheduler::Tier::kBatch, scheduler::Tier::kInteractive};
  const Instant first = Instant() + kFirstFlood;
  for (const scheduler::Tier tier : kTiers) {
    world_.at(first + rng_.between(Duration(0), std::max(quiet_at - first, Duration(0))),
              [this, &submits, tier] { flood_in(submits, tier); });
  }
  const Instant last = quiet_at + kLastFloodsAfter;
  if (rng_.chance(500'000)) {
    world_.at(last - std::chrono::seconds(1), [this, &submits] { long_jobs(submits); });
    world_.at(last, [this, &submits] { gang(submits); });
  }
  for (int i = 0; i < 2; ++i) {
    world_.at(last + std::chrono::milliseconds(300), [this, &submits] { flood(submits); });
  }
}

void Floods::flood(SubmitsKept& submits) {
  flood_in(submits, rng_.chance(600'000) ? some_tier() : scheduler::Tier::kNone);
  if (rng_.chance(200'000)) {
    gang(submits);
  }
}

void Floods::flood_in(SubmitsKept& submits, scheduler::Tier tier) {
  ++counts_["flooded_" + std::string(tier == scheduler::Tier::kNone ? "queue" : text_of(tier))];
  const std::string queue = some_queue();
  const std::uint64_t jobs =
      kFloodMin + rng_.below(rng_.chance(100'000) ? kFloodMore : kFloodUsual);
  if (rng_.chance(200'000)) {
    scheduler::JobSpec spec = small_job();
    spec.array = scheduler::ArrayRange{0, static_cast<std::uint32_t>(jobs - 1), 0};
    spec.queue = queue;
    spec.tier = tier == scheduler::Tier::kNone ? some_tier() : tier;
    submit(submits, spec);
    return;
  }
  for (std::uint64_t i = 0; i < jobs; ++i) {
    scheduler::JobSpec spec = small_job();
    spec.queue = tier == scheduler::Tier::kNone ? queue : some_queue();
    spec.tier = tier == scheduler::Tier::kNone ? some_tier() : tier;
    submit(submits, spec);
  }
}

/// Of all GPUs, and first of all but in its tier. It is done soon.
void Floods::gang(SubmitsKept& submits) {
  ++counts_["gang"];
  scheduler::JobSpec spec = small_job();
  spec.name = "gang";
  spec.request.gpus = world_.size() * kGpusPerHost;
  spec.command.argv = {"sim", run_word(500 + rng_.below(1'000))};
  spec.limits.time_limit = std::chrono::seconds(6);
  spec.queue = kGangQueue;
  spec.tier = scheduler::Tier::kInference;
  submit(submits, spec);
}

/// A gang of all GPUs waits for them, and for so long that others may pass.
void Floods::long_jobs(SubmitsKept& submits) {
  for (std::uint32_t i = 0; i < kLongJobs; ++i) {
    scheduler::JobSpec spec = small_job();
    spec.name = "long";
    spec.request.gpus = 1;
    spec.command.argv = {"sim", run_word(14'000 + rng_.below(4'000))};
    spec.limits.time_limit = std::chrono::seconds(25);
    spec.queue = some_queue();
    spec.tier = scheduler::Tier::kPremium;
    submit(submits, spec);
  }
}

scheduler::JobSpec Floods::small_job() {
  scheduler::JobSpec spec;
  spec.name = "flood";
  spec.request.gpus = rng_.chance(800'000) ? 1 : 2;
  spec.command.argv = {"sim", run_word(200 + rng_.below(2'000))};
  spec.limits.hold = rng_.between(profile_.hold_min, profile_.hold_max);
  spec.limits.grace = std::chrono::seconds(1);
  spec.limits.patience = std::chrono::seconds(2);
  if (rng_.chance(500'000)) {
    spec.limits.time_limit = seconds_between(rng_, 3, 8);
  }
  if (rng_.chance(200'000)) {
    spec.priority = static_cast<std::int32_t>(rng_.below(3));
  }
  return spec;
}

void Floods::submit(SubmitsKept& submits, const scheduler::JobSpec& spec) {
  submits.submit(world_, static_cast<std::uint32_t>(rng_.below(world_.size())), spec);
}

scheduler::Tier Floods::some_tier() {
  return static_cast<scheduler::Tier>(1 +
                                      rng_.below(static_cast<std::uint64_t>(scheduler::kTierLast)));
}

std::string Floods::some_queue() {
  return std::string(kWideLeaves[rng_.below(kWideLeaves.size())]);
}

}  // namespace muster::sim
