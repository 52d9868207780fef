#include "tests/sim/rank_farm.h"

#include <algorithm>
#include <charconv>

#include "gossip/base/check.h"

namespace muster::sim {
namespace {

using scheduler::RankResult;

constexpr std::uint16_t kMasterPort = 29500;
constexpr int kSigTerm = 15;
constexpr int kSigKill = 9;
constexpr char kFull[] = "disk: it is full";

/// The number behind `key=` among the words, or `otherwise`.
std::int64_t word(const std::vector<std::string>& words, std::string_view key,
                  std::int64_t otherwise) {
  for (const std::string& each : words) {
    if (each.size() > key.size() && each.starts_with(key) && each[key.size()] == '=') {
      std::int64_t value = otherwise;
      std::from_chars(each.data() + key.size() + 1, each.data() + each.size(), value);
      return value;
    }
  }
  return otherwise;
}

}  // namespace

void RankFarm::command(Instant now, const agent::SupervisorCommand& command) {
  std::visit([&](const auto& each) { on(now, each); }, command);
}

void RankFarm::set_full(bool is_full) {
  is_full_ = is_full;
  reports_.push_back(agent::ShortageChanged{is_full ? kFull : ""});
}

void RankFarm::on(Instant now, const agent::Prepare& prepare) {
  if (is_full_ && !supervisors_.contains(prepare.token)) {
    reports_.push_back(agent::LaunchFailed{prepare.token, kFull});
    return;
  }
  Supervisor& supervisor = supervisors_[prepare.token];
  if (!supervisor.is_alive) {
    reports_.push_back(agent::SupervisorGone{prepare.token, supervisor.evidence});
    return;
  }
  if (!supervisor.is_launched) {
    supervisor.hold_until = now + prepare.hold;
  }
  if (prepare.hold_master_port && supervisor.master.is_none()) {
    supervisor.master = gossip::Endpoint::ipv4(10, 0, 0, 1, kMasterPort);
  }
  reports_.push_back(agent::SupervisorPrepared{prepare.token, supervisor.master});
}

void RankFarm::start_rank(Instant now, Supervisor& supervisor, std::uint32_t number) {
  const std::vector<std::string>& argv = supervisor.record.spec.command.argv;
  Rank rank;
  rank.number = number;
  rank.result.rank = number;
  rank.result.code = static_cast<std::int32_t>(word(argv, "exit", 0));
  if (word(argv, "fail_rank", -1) == static_cast<std::int64_t>(number)) {
    rank.result.code = 1;
  }
  rank.ends_at = now + std::chrono::milliseconds(word(argv, "run_ms", 1000)) +
                 rng_.between(Duration(0), std::chrono::milliseconds(50));
  supervisor.ranks.push_back(rank);
}

void RankFarm::on(Instant now, const agent::Launch& launch) {
  Supervisor& supervisor = supervisors_[launch.record.token];
  if (!supervisor.is_alive) {
    reports_.push_back(agent::SupervisorGone{launch.record.token, supervisor.evidence});
    return;
  }
  supervisor.hold_until = launch.hold_until;
  if (supervisor.is_launched) {
    reports_.push_back(agent::RanksStarted{launch.record.token});
    return;
  }
  supervisor.is_launched = true;
  supervisor.record = launch.record;
  supervisor.member = launch.member;
  for (std::uint32_t i = 0; i < launch.member.rank_count(); ++i) {
    start_rank(now, supervisor, launch.member.first_rank + i);
  }
  fact(FarmFact::Kind::kLaunched, launch.record.token, supervisor);
  reports_.push_back(agent::RanksStarted{launch.record.token});
}

void RankFarm::signal_ranks(Instant now, Supervisor& supervisor, Duration grace) {
  if (supervisor.is_terminating) {
    return;
  }
  supervisor.is_terminating = true;
  const std::vector<std::string>& argv = supervisor.record.spec.command.argv;
  const bool ignores = word(argv, "ignore_term", 0) != 0;
  for (Rank& rank : supervisor.ranks) {
    if (!rank.is_running) {
      continue;
    }
    rank.result.signalled_by_us = true;
    const std::int64_t exit_on_term = word(argv, "exit_on_term", -1);
    rank.result.kind =
        !ignores && exit_on_term >= 0 ? RankResult::Kind::kExited : RankResult::Kind::kSignalled;
    rank.result.code = ignores             ? kSigKill
                       : exit_on_term >= 0 ? static_cast<std::int32_t>(exit_on_term)
                                           : kSigTerm;
    const Duration soon =
        rng_.between(std::chrono::milliseconds(1), std::chrono::milliseconds(200));
    rank.ends_at = std::min(rank.ends_at, now + (ignores ? grace : std::min(grace, soon)));
  }
}

void RankFarm::on(Instant now, const agent::Terminate& terminate) {
  const auto found = supervisors_.find(terminate.token);
  if (found == supervisors_.end() || !found->second.is_alive) {
    reports_.push_back(agent::SupervisorGone{
        terminate.token, found == supervisors_.end() ? std::nullopt : found->second.evidence});
    return;
  }
  if (!found->second.is_launched) {
    found->second.is_alive = false;
    reports_.push_back(agent::SupervisorGone{terminate.token, std::nullopt});
    return;
  }
  signal_ranks(now, found->second, terminate.grace);
}

void RankFarm::on(Instant, const agent::RenewHold& renew) {
  const auto found = supervisors_.find(renew.token);
  if (found != supervisors_.end()) {
    found->second.hold_until = renew.hold_until;
  }
}

void RankFarm::on(Instant now, const agent::Forget& forget) {
  const auto found = supervisors_.find(forget.token);
  if (found == supervisors_.end()) {
    return;
  }
  if (found->second.is_alive && found->second.is_launched && !found->second.evidence) {
    signal_ranks(now, found->second, Duration(0));
    return;
  }
  supervisors_.erase(found);
}

void RankFarm::end_ranks(Instant now, Token token, Supervisor& supervisor) {
  bool any_running = false;
  for (Rank& rank : supervisor.ranks) {
    if (rank.is_running && rank.ends_at <= now) {
      rank.is_running = false;
      fact(FarmFact::Kind::kRankEnded, token, supervisor, rank.result);
      if (!rank.result.is_success()) {
        reports_.push_back(agent::RankFailedEarly{token, rank.result});
      }
    }
    any_running = any_running || rank.is_running;
  }
  if (any_running || supervisor.evidence.has_value() || !supervisor.is_launched) {
    return;
  }
  supervisor.evidence.emplace();
  for (const Rank& rank : supervisor.ranks) {
    supervisor.evidence->push_back(rank.result);
  }
  supervisor.is_alive = false;
  fact(FarmFact::Kind::kGone, token, supervisor);
  reports_.push_back(agent::AllRanksEnded{token, *supervisor.evidence});
}

void RankFarm::advance(Instant now) {
  for (auto& [token, supervisor] : supervisors_) {
    if (!supervisor.is_alive) {
      continue;
    }
    if (supervisor.hold_until <= now && !supervisor.record.spec.limits.keep_when_isolated) {
      supervisor.hold_until = kNever;
      if (supervisor.is_launched) {
        signal_ranks(now, supervisor, supervisor.record.spec.limits.grace);
      } else {
        supervisor.is_alive = false;
        reports_.push_back(agent::SupervisorGone{token, std::nullopt});
      }
    }
    end_ranks(now, token, supervisor);
  }
}

Instant RankFarm::next_deadline() const {
  Instant next = kNever;
  for (const auto& [token, supervisor] : supervisors_) {
    if (!supervisor.is_alive) {
      continue;
    }
    if (!supervisor.record.spec.limits.keep_when_isolated) {
      next = std::min(next, supervisor.hold_until);
    }
    for (const Rank& rank : supervisor.ranks) {
      if (rank.is_running) {
        next = std::min(next, rank.ends_at);
      }
    }
  }
  return next;
}

std::vector<agent::GangAgentInput> RankFarm::scan(Instant) {
  std::vector<agent::GangAgentInput> found;
  reports_.clear();
  for (const auto& [token, supervisor] : supervisors_) {
    if (supervisor.is_alive) {
      found.push_back(agent::SupervisorAdopted{token, supervisor.is_launched, supervisor.hold_until,
                                               supervisor.master});
    } else {
      found.push_back(agent::SupervisorGone{token, supervisor.evidence});
    }
  }
  if (is_full_) {
    found.push_back(agent::ShortageChanged{kFull});
  }
  found.push_back(agent::SupervisorsScanned{});
  return found;
}

std::vector<agent::GangAgentInput> RankFarm::take_reports() {
  return std::exchange(reports_, {});
}

std::vector<FarmFact> RankFarm::take_facts() {
  return std::exchange(facts_, {});
}

void RankFarm::lose_power() {
  for (auto& [token, supervisor] : supervisors_) {
    if (supervisor.is_alive && supervisor.is_launched) {
      fact(FarmFact::Kind::kGone, token, supervisor);
    }
    supervisor.is_alive = false;
    supervisor.ranks.clear();
  }
  reports_.clear();
}

bool RankFarm::kill_some_supervisor(Instant) {
  for (auto& [token, supervisor] : supervisors_) {
    if (supervisor.is_alive) {
      supervisor.is_alive = false;
      supervisor.ranks.clear();
      if (supervisor.is_launched) {
        fact(FarmFact::Kind::kGone, token, supervisor);
      }
      reports_.push_back(agent::SupervisorGone{token, std::nullopt});
      return true;
    }
  }
  return false;
}

bool RankFarm::is_idle() const {
  return std::none_of(supervisors_.begin(), supervisors_.end(), [](const auto& each) {
    return each.second.is_alive && each.second.is_launched;
  });
}

void RankFarm::freeze(Duration duration) {
  for (auto& [token, supervisor] : supervisors_) {
    for (Rank& rank : supervisor.ranks) {
      if (rank.is_running) {
        rank.ends_at += duration;
      }
    }
  }
}

void RankFarm::fact(FarmFact::Kind kind, Token token, const Supervisor& supervisor,
                    RankResult result) {
  FarmFact happened;
  happened.kind = kind;
  happened.token = token;
  happened.job = supervisor.record.job;
  happened.attempt = supervisor.record.attempt;
  happened.member = supervisor.member;
  for (const scheduler::Member& member : supervisor.record.members) {
    happened.ranks_of_job += member.rank_count();
  }
  happened.result = std::move(result);
  facts_.push_back(std::move(happened));
}

}  // namespace muster::sim
