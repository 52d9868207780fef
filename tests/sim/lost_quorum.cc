#include "tests/sim/lost_quorum.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "tests/sim/log_checkers.h"
#include "tests/sim/share_checkers.h"

namespace muster::sim {
namespace {

constexpr int kRecoveryTries = 20;
constexpr Duration kAnswerWait = std::chrono::seconds(1);
constexpr Duration kBackMax = std::chrono::seconds(15);
/// From an alarm to the operator's word about it.
constexpr Duration kReactsMin = std::chrono::seconds(5);
constexpr Duration kReactsMax = std::chrono::seconds(20);

class EndsInOneQuorum : public Checker {
 public:
  std::string name() const override { return "ends_in_one_quorum"; }
  void at_end(World& world) override {
    if (const std::string amiss = LostQuorum::what_is_amiss(world); !amiss.empty()) {
      world.violation(name(), amiss);
    }
  }
};

/// Hears the alarm as an operator does.
class RivalAlarm : public Checker {
 public:
  explicit RivalAlarm(std::function<void()> heard) : heard_(std::move(heard)) {}
  std::string name() const override { return "rival_alarm"; }
  void on_event(World&, std::uint32_t, const Event& event) override {
    if (event.name == "rival_epoch") {
      heard_();
    }
  }

 private:
  std::function<void()> heard_;
};

const scheduler::State* leaders_state(const World& world) {
  const std::uint32_t leader = world.leader();
  return leader < world.size() ? &world.node(leader).seat().state() : nullptr;
}

}  // namespace

Checkers LostQuorum::add_checkers(World& world) {
  auto gpus = std::make_unique<NoGpuInTwoAttempts>();
  const Checkers checkers{nullptr, gpus.get()};
  world.add_checker(std::move(gpus));
  world.add_checker(std::make_unique<TokenMonotonic>());
  world.add_checker(std::make_unique<GangAllOrNothing>());
  world.add_checker(std::make_unique<GenerationsRise>());
  world.add_checker(std::make_unique<RowsConverge>());
  world.add_checker(std::make_unique<HeldIsSum>());
  world.add_checker(std::make_unique<EndsInOneQuorum>());
  return checkers;
}

void LostQuorum::lose_majority() {
  std::vector<std::uint32_t> voters;
  for (std::uint32_t host = 0; host < world_.size(); ++host) {
    const bool leads = world_.is_running(host) && world_.node(host).seat().leads();
    for (const HostId& voter :
         leads ? world_.node(host).seat().raft()->voters() : std::vector<HostId>()) {
      voters.push_back(*world_.find(voter));
    }
  }
  const std::size_t lost = voters.size() / 2 + 1;
  if (lost >= voters.size()) {
    return;
  }
  ++counts_["quorum_lost"];
  for (std::size_t i = 0; i < lost; ++i) {
    std::swap(voters[i], voters[i + rng_.below(voters.size() - i)]);
    world_.power_off(voters[i]);
  }
  voters.resize(lost);
  after(std::chrono::seconds(1), std::chrono::seconds(12), [this] { look(kRecoveryTries); });
  after(std::chrono::seconds(8), std::chrono::seconds(25), [this, voters] {
    for (const std::uint32_t voter : voters) {
      after(Duration(0), kBackMax, [this, voter] { world_.power_on(voter); });
    }
  });
}

void LostQuorum::listen() {
  world_.add_checker(std::make_unique<RivalAlarm>([this] {
    if (!is_rivalled_) {
      is_rivalled_ = true;
      after(kReactsMin, kReactsMax, [this] { look(kRecoveryTries); });
    }
  }));
}

void LostQuorum::look(int tries) {
  if (!is_needed() || tries == 0) {
    is_rivalled_ = false;
    return;
  }
  std::vector<std::uint64_t> asked;
  for (std::uint32_t host = 0; host < world_.size(); ++host) {
    if (world_.is_running(host) && !world_.is_frozen(host)) {
      asked.push_back(ask(host, {}));
    }
  }
  after(kAnswerWait, kAnswerWait, [this, asked, tries] { decide(asked, tries); });
}

void LostQuorum::decide(const std::vector<std::uint64_t>& asked, int tries) {
  std::optional<agent::RecoveryInfo> best;
  const auto knows = [](const agent::RecoveryInfo& info) {
    return std::tuple(info.epoch, info.term, info.last);
  };
  for (const std::uint64_t number : asked) {
    const ClientReply* reply = world_.reply_to(number);
    if (reply == nullptr || reply->response.status != agent::ResponseStatus::kOk) {
      continue;
    }
    const auto info = agent::decode_payload<agent::RecoveryInfo>(reply->response.payload);
    const bool is_meant = info.has_value() && info->has_log && (!is_rivalled_ || info->has_rival);
    if (is_meant && (!best.has_value() || knows(*best) < knows(*info))) {
      best = info;
    }
  }
  if (!best.has_value() && is_rivalled_) {
    is_rivalled_ = false;  // Nobody hears two quorums any more.
    return;
  }
  const auto host = best.has_value() ? world_.find(best->host) : std::nullopt;
  if (!host.has_value() || !world_.is_running(*host)) {
    return look(tries - 1);
  }
  const std::uint64_t order = ask(*host, {true, best->term, best->last});
  after(kAnswerWait, kAnswerWait, [this, order, tries] {
    const ClientReply* reply = world_.reply_to(order);
    if (reply != nullptr && reply->response.status == agent::ResponseStatus::kOk) {
      ++counts_[is_rivalled_ ? "rivals_ended" : "quorum_recovered"];
      is_rivalled_ = false;
    } else {
      look(tries - 1);
    }
  });
}

std::uint64_t LostQuorum::ask(std::uint32_t host, const agent::RecoverArgs& arguments) {
  agent::Request request;
  request.verb = agent::Verb::kRecover;
  request.arguments = agent::encode_payload(arguments);
  return world_.ask(host, std::move(request));
}

bool LostQuorum::is_led() const {
  return leaders_state(world_) != nullptr;
}

void LostQuorum::after(Duration low, Duration high, std::function<void()> action) {
  world_.at(world_.now() + rng_.between(low, high), std::move(action));
}

std::string LostQuorum::what_is_amiss(World& world) {
  const scheduler::State* state = leaders_state(world);
  if (state == nullptr) {
    return "nobody leads";
  }
  std::optional<std::pair<ClusterEpoch, HostId>> followed;
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (!world.is_running(host)) {
      return "host " + std::to_string(host) + " is off";
    }
    const scheduler::QuorumSeat& seat = world.node(host).seat();
    const std::pair follows(seat.epoch(), seat.known_leader());
    if (followed.has_value() && *followed != follows) {
      return "host " + std::to_string(host) + " follows " + follows.second.short_hex() +
             " in epoch " + follows.first.text() + ", others " + followed->second.short_hex() +
             " in " + followed->first.text();
    }
    followed = follows;
  }
  for (const auto& [id, job] : state->jobs()) {
    if (!job.has_ended()) {
      return "job " + std::to_string(id.value()) + " is " +
             std::string(scheduler::text_of(job.life.state));
    }
  }
  return "";
}

}  // namespace muster::sim
