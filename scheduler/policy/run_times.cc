#include "scheduler/policy/run_times.h"

#include <algorithm>

namespace muster::scheduler {

const std::array<Duration, RunHistogram::kBuckets>& RunHistogram::bounds() {
  static const auto kBounds = [] {
    std::array<Duration, kBuckets> bounds{};
    Duration bound = std::chrono::seconds(1);
    for (Duration& each : bounds) {
      each = bound;
      bound += bound / 4;
    }
    return bounds;
  }();
  return kBounds;
}

void RunHistogram::add(Duration run) {
  const auto bucket = std::lower_bound(bounds().begin(), bounds().end() - 1, run);
  ++counts_[static_cast<std::size_t>(bucket - bounds().begin())];
  ++runs_;
  if (runs_ >= kRunsMax) {
    runs_ = 0;
    for (std::uint16_t& count : counts_) {
      count = static_cast<std::uint16_t>(count / 2);
      runs_ += count;
    }
  }
}

std::optional<Duration> RunHistogram::quantile(std::uint32_t percent, Duration age) const {
  const auto longer = std::upper_bound(bounds().begin(), bounds().end(), age) - bounds().begin();
  std::uint32_t all = 0;
  for (auto i = static_cast<std::size_t>(longer); i < kBuckets; ++i) {
    all += counts_[i];
  }
  std::uint32_t below = 0;
  for (auto i = static_cast<std::size_t>(longer); i < kBuckets; ++i) {
    below += counts_[i];
    if (all != 0 && below * 100 >= all * percent) {
      return bounds()[i];
    }
  }
  return std::nullopt;
}

RunTimes::Key RunTimes::key_of(const JobSpec& spec, std::uint32_t width) {
  Key key{width, "", "", 0};
  if (width < 2) {
    key.user = spec.user;
  }
  if (width == 0 && !spec.command.argv.empty()) {
    key.program = spec.command.argv.front();
  }
  if (width < 3) {
    key.gpus = spec.request.gpus;
  }
  return key;
}

void RunTimes::learn(const JobSpec& spec, Duration run) {
  for (std::uint32_t width = 0; width < kWidths; ++width) {
    const auto kind = kinds_.try_emplace(key_of(spec, width)).first;
    kind->second.times.add(run);
    by_age_.erase({kind->second.learned, kind->first});
    kind->second.learned = ++lessons_;
    by_age_.emplace(lessons_, kind->first);
    if (kinds_.size() > kRunKindsMax) {
      const auto oldest = by_age_.begin();
      kinds_.erase(oldest->second);
      by_age_.erase(oldest);
    }
  }
}

void RunTimes::rebuild(const State& state) {
  *this = RunTimes();
  for (const auto& [id, job] : state.jobs()) {
    const Attempt* last =
        job.life.attempt_tokens.empty() ? nullptr : state.attempt(job.life.attempt_tokens.back());
    if (job.life.state == JobState::kCompleted && last != nullptr) {
      learn(job.spec, job.history.ended_at - last->started_at);
    }
  }
}

void RunTimes::on_touched(const State& state, const Token& token) {
  const Attempt* attempt = state.attempt(token);
  const Job* job = attempt == nullptr ? nullptr : state.job(attempt->job);
  if (job != nullptr && job->life.state == JobState::kCompleted &&
      job->life.ended_index == state.applied() && attempt->completed) {
    learn(job->spec, job->history.ended_at - attempt->started_at);
  }
}

Duration RunTimes::predicted(const JobSpec& spec, std::uint32_t percent, Duration age) const {
  const Duration limit = spec.limits.time_limit;
  const Duration unknown = 2 * age + std::chrono::minutes(10);
  Duration run = limit == Duration::zero() ? unknown : std::max(limit / 2, age);
  for (std::uint32_t width = 0; width < kWidths; ++width) {
    const auto kind = kinds_.find(key_of(spec, width));
    if (kind != kinds_.end() && kind->second.times.runs() >= kRunsEnough) {
      run = kind->second.times.quantile(percent, age).value_or(unknown);
      break;
    }
  }
  return limit == Duration::zero() ? run : std::min(run, limit);
}

}  // namespace muster::scheduler
