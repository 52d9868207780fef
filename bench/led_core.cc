#include "bench/led_core.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/rng.h"

namespace muster::bench {
namespace {

namespace entry = scheduler::entry;

scheduler::SchedulerConfig unhurried(scheduler::SchedulerConfig config) {
  for (auto* rate : {&config.changes.of_user, &config.changes.of_all, &config.changes.of_queue}) {
    rate->burst = std::numeric_limits<std::int32_t>::max();
  }
  return config;
}

}  // namespace

LedCore::LedCore(scheduler::SchedulerConfig config)
    : scheduler_(unhurried(std::move(config)), scheduler::State(), now_) {}

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

void LedCore::tick(Duration elapsed) {
  while (elapsed > Duration::zero()) {
    const Duration part = std::min(elapsed, scheduler::kTickMax);
    apply(scheduler::encode(entry::Tick{part}));
    settle();
    elapsed -= part;
  }
}

void LedCore::start(const Token& token) {
  for (const scheduler::Member& member : members(token)) {
    apply(scheduler::encode(entry::Ready{token, member.host, member.start, {}}));
  }
  settle();
}

void LedCore::finish(const Token& token) {
  for (const scheduler::Member& member : members(token)) {
    entry::Finish fact{token, member.host, member.start, {}, true};
    for (std::uint32_t i = 0; i < member.rank_count(); ++i) {
      scheduler::RankResult result;
      result.rank = member.first_rank + i;
      fact.results.push_back(std::move(result));
    }
    apply(scheduler::encode(fact));
  }
  settle();
}

/// A copy: entries change the attempt.
std::vector<scheduler::Member> LedCore::members(const Token& token) const {
  const scheduler::Attempt* attempt = state().attempt(token);
  CHECK(attempt != nullptr);
  std::vector<scheduler::Member> members;
  members.reserve(attempt->members.size());
  for (const scheduler::MemberRecord& record : attempt->members) {
    members.push_back(record.member);
  }
  return members;
}

std::vector<Token> LedCore::take_decided() {
  return std::exchange(decided_, {});
}

}  // namespace muster::bench
