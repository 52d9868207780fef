#include "tests/sim/processors.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::sim {

namespace {

constexpr std::uint32_t kWhole = 1000;
constexpr std::size_t kLanes = static_cast<std::size_t>(Lane::kCheck) + 1;

}  // namespace

Duration& Processors::had(std::uint32_t host, Lane lane) {
  const std::size_t place = std::size_t{host} * kLanes + static_cast<std::size_t>(lane);
  if (place >= had_.size()) {
    had_.resize(place + kLanes);
  }
  return had_[place];
}

std::optional<Instant> Processors::wake(Instant now, std::uint32_t host, Lane lane) {
  Core& core = cores_[core_of(host)];
  const bool waits =
      std::any_of(core.waiting.begin(), core.waiting.end(),
                  [&](const Waiting& each) { return each.host == host && each.lane == lane; });
  if (!waits) {
    core.waiting.push_back({host, lane, std::max(had(host, lane), core.least - prices_.slice)});
  }
  if (core.is_planned) {
    return std::nullopt;
  }
  core.is_planned = true;
  return std::max(now, core.free_at);
}

std::vector<Processors::Waiting>::iterator Processors::least_of(Core& core) {
  return std::min_element(
      core.waiting.begin(), core.waiting.end(),
      [](const Waiting& left, const Waiting& right) { return left.had < right.had; });
}

/// The one that had least comes first; of two, the one that waits longer.
void Processors::choose(Core& core) {
  const auto least = least_of(core);
  std::rotate(core.waiting.begin(), least, least + 1);
}

Processors::Turn Processors::turn(Instant now, std::uint32_t core) const {
  const Core& of = cores_[core];
  CHECK(of.is_planned && !of.waiting.empty());
  return {std::max(now, of.free_at), of.waiting.front().host, of.waiting.front().lane};
}

std::optional<Instant> Processors::done(Instant now, std::uint32_t core, Duration cost,
                                        bool has_more) {
  Core& of = cores_[core];
  CHECK(!of.waiting.empty());
  const Duration spent = pay(cost);
  of.free_at = std::max(of.free_at, now) + spent;
  of.used += spent;
  Waiting& who = of.waiting.front();
  who.had += spent;
  had(who.host, who.lane) = who.had;
  of.least = std::max(of.least, least_of(of)->had);
  const bool is_over = !has_more || of.used >= prices_.slice;
  if (!has_more) {
    of.waiting.erase(of.waiting.begin());
  } else if (is_over) {
    std::rotate(of.waiting.begin(), of.waiting.begin() + 1, of.waiting.end());
  }
  if (is_over) {
    of.used = Duration(0);
  }
  if (is_over && !of.waiting.empty()) {
    choose(of);
  }
  of.is_planned = !of.waiting.empty();
  return of.is_planned ? std::optional(of.free_at) : std::nullopt;
}

Instant Processors::charge(Instant now, std::uint32_t host, Duration cost) {
  Core& core = cores_[core_of(host)];
  core.free_at = std::max(core.free_at, now) + pay(cost);
  return core.free_at;
}

Duration Processors::pay(Duration cost) {
  if (is_free_) {
    return Duration(0);
  }
  spent_ += cost;
  return cost * kWhole / (kWhole - burden_);
}

}  // namespace muster::sim
