#include "tests/sim/processors.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::sim {

namespace {

constexpr std::uint32_t kWhole = 1000;

}  // namespace

std::optional<Instant> Processors::wake(Instant now, std::uint32_t host, Lane lane) {
  Core& core = cores_[core_of(host)];
  const Waiting who{host, lane};
  if (std::find(core.waiting.begin(), core.waiting.end(), who) == core.waiting.end()) {
    core.waiting.push_back(who);
  }
  if (core.is_planned) {
    return std::nullopt;
  }
  core.is_planned = true;
  return std::max(now, core.free_at);
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
  if (!has_more || of.used >= prices_.slice) {
    const Waiting who = of.waiting.front();
    of.waiting.pop_front();
    of.used = Duration(0);
    if (has_more) {
      of.waiting.push_back(who);
    }
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
