#include "bench/led_core.h"

#include <limits>
#include <utility>

#include "gossip/base/rng.h"

namespace muster::bench {
namespace {

scheduler::SchedulerConfig unhurried() {
  scheduler::SchedulerConfig config;
  config.changes.of_user.burst = std::numeric_limits<std::int32_t>::max();
  config.changes.of_all.burst = std::numeric_limits<std::int32_t>::max();
  return config;
}

}  // namespace

LedCore::LedCore() : scheduler_(unhurried(), scheduler::State(), now_) {}

void LedCore::lead() {
  scheduler_.step(now_, scheduler::input::LeadershipChanged{true, true});
  settle();
}

void LedCore::apply(std::string bytes) {
  index_ = index_.next();
  const std::size_t live = state().live().size();
  scheduler_.step(now_, scheduler::input::Applied{index_, std::move(bytes)});
  hash_ = mix64(hash_ ^ state().last_outcome());
  if (state().live().size() > live) {
    decided_.push_back(Token{state().epoch(), index_.value()});
  }
}

std::vector<std::string> LedCore::take_proposals() {
  return scheduler_.take_output().proposals;
}

void LedCore::settle() {
  for (auto proposals = take_proposals(); !proposals.empty(); proposals = take_proposals()) {
    for (std::string& bytes : proposals) {
      apply(std::move(bytes));
    }
  }
}

void LedCore::submit(std::uint64_t request, std::string key, scheduler::JobSpec spec) {
  scheduler_.step(
      now_, scheduler::input::ClientSubmit{request, std::move(key), std::move(spec), {"alice"}});
}

std::vector<Token> LedCore::take_decided() {
  return std::exchange(decided_, {});
}

}  // namespace muster::bench
