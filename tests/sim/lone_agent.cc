#include "tests/sim/lone_agent.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "agent/gang/gang_agent.h"
#include "gossip/base/rng.h"
#include "tests/sim/rank_farm.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::GpuSlot;
using scheduler::Member;

constexpr Duration kLonePlays = 60s;
constexpr std::uint32_t kSlots = 4;  ///< 0 is the whole device.

const HostId kLoneHost = HostId::from_bytes("me______________");
const HostId kPlayedLeader = HostId::from_bytes("leader__________");

/// The rule as the checker reads it, not as the agent does.
bool share_silicon(const Member& a, const Member& b) {
  return std::any_of(a.gpus.begin(), a.gpus.end(), [&](const GpuSlot& one) {
    return std::any_of(b.gpus.begin(), b.gpus.end(), [&](const GpuSlot& other) {
      return one.uuid == other.uuid && (one.slot == 0 || other.slot == 0 || one.slot == other.slot);
    });
  });
}

class LoneAgent {
 public:
  explicit LoneAgent(std::uint64_t seed) : rng_(seed), farm_(rng_.fork()) { boot(); }

  LoneAgentResult run() {
    for (Instant when = now_ + 1s; when < Instant() + kLonePlays; when += rng_.between(50ms, 2s)) {
      at(when, [this] { decide(); });
    }
    for (Instant when = now_ + 5s; when < Instant() + kLonePlays; when += rng_.between(4s, 20s)) {
      at(when, [this] { boot(); });
    }
    while (now_ < Instant() + kLonePlays && result_.violation.empty()) {
      go_on();
    }
    return result_;
  }

 private:
  void at(Instant when, std::function<void()> action) { queue_.emplace(when, std::move(action)); }

  /// Takes the next step: of the queue, the clock of the agent, or that of the supervisors.
  void go_on() {
    const Instant queued = queue_.empty() ? kNever : queue_.begin()->first;
    const Instant next = std::min({queued, agent_->next_deadline(), farm_.next_deadline()});
    now_ = std::max(now_, std::min(next, Instant() + kLonePlays));
    if (queued <= now_) {
      const std::function<void()> action = std::move(queue_.begin()->second);
      queue_.erase(queue_.begin());
      action();
    }
    farm_.advance(now_);
    agent_->tick(now_);
    drain();
  }

  void boot() {
    ++life_;
    start_ = {Generation(life_), StartId(rng_.next() | 1)};
    // The log ends what is only reserved when another start registers.
    waiting_.clear();
    agent_.emplace(agent::GangAgentOptions(), agent::AgentIdentity{kLoneHost, start_, "boot", "me"},
                   disk_, agent::Inventory{"H100", {"a", "b"}, 4, 1024}, rng_.fork(), now_);
    give(agent::LeaderChanged{kPlayedLeader, Term(1)});
    for (agent::GangAgentInput& found : farm_.scan(now_)) {
      give(std::move(found));
    }
    drain();
  }

  void give(agent::GangAgentInput input) { agent_->step(now_, std::move(input)); }

  /// Soon, or late; once, or twice.
  void say(scheduler::AgentMessage message, Nonce nonce = Nonce()) {
    const int copies = rng_.chance(300'000) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const Duration delay = rng_.chance(200'000) ? rng_.between(0s, 6s) : rng_.between(1ms, 20ms);
      at(now_ + delay, [this, nonce, message, life = life_] {
        if (life == life_) {
          give(agent::LeaderMessage{kPlayedLeader, nonce, message});
        }
      });
    }
  }

  void decide() {
    Member member;
    member.host = kLoneHost;
    member.start = start_;
    const std::string uuid = rng_.chance(500'000) ? "a" : "b";
    member.gpus = {{uuid, static_cast<std::uint32_t>(rng_.below(kSlots))}};
    scheduler::Assign assign;
    assign.token = Token{1, ++last_token_};
    assign.start = start_;
    assign.job = JobId(last_token_);
    assign.attempt = 1;
    assign.spec.command.argv = {"sim", "run_ms=" + std::to_string(100 + rng_.below(8'000))};
    assign.spec.request.gpus = 1;
    assign.spec.limits.grace = 1s;
    assign.members = {member};
    assign.hold = 5s;
    waiting_.insert(assign.token);
    say(assign);
  }

  void hear(const agent::AgentSend& sent) {
    if (const auto* hello = std::get_if<scheduler::Hello>(&sent.message)) {
      say(scheduler::HelloReply{hello->start.start_id, true, Generation(), Token{1, 1}, {}},
          sent.nonce);
    } else if (const auto* ready = std::get_if<scheduler::Ready>(&sent.message)) {
      // An aborted one is never started, and never told so: the host learns it by itself.
      if (waiting_.erase(ready->token) > 0 && rng_.chance(800'000)) {
        say(scheduler::Start{ready->token, start_, {}});
      }
    } else if (const auto* renew = std::get_if<scheduler::Renew>(&sent.message)) {
      say(scheduler::RenewAck{renew->tokens}, sent.nonce);
    } else if (const auto* finish = std::get_if<scheduler::Finish>(&sent.message)) {
      say(scheduler::FinishAck{finish->token}, sent.nonce);
    }
  }

  void write(const agent::AgentPersist& persist) {
    at(now_ + rng_.between(1ms, 30ms), [this, persist, life = life_] {
      if (life != life_) {
        return;
      }
      for (const crdt::Write& each : persist.writes) {
        if (each.value.has_value()) {
          disk_[each.key] = *each.value;
        } else {
          disk_.erase(each.key);
        }
      }
      give(agent::Persisted{persist.id});
    });
  }

  void drain() {
    for (bool is_quiet = false; !is_quiet;) {
      agent::GangAgentOutput output = agent_->take_output();
      std::for_each(output.messages.begin(), output.messages.end(),
                    [this](const auto& each) { hear(each); });
      std::for_each(output.persists.begin(), output.persists.end(),
                    [this](const auto& each) { write(each); });
      for (const agent::SupervisorCommand& command : output.commands) {
        farm_.command(now_, command);
      }
      std::vector<agent::GangAgentInput> reports = farm_.take_reports();
      is_quiet = reports.empty() && output.commands.empty();
      for (agent::GangAgentInput& report : reports) {
        give(std::move(report));
      }
      look();
    }
  }

  void look() {
    for (const FarmFact& fact : farm_.take_facts()) {
      if (fact.kind == FarmFact::Kind::kGone) {
        running_.erase(fact.token);
      }
      if (fact.kind != FarmFact::Kind::kLaunched) {
        continue;
      }
      ++result_.launches;
      for (const auto& [token, member] : running_) {
        if (share_silicon(member, fact.member)) {
          result_.violation = fact.token.text() + " started while " + token.text() +
                              " ran on an overlapping place of " + member.gpus.front().uuid.text();
        }
      }
      running_[fact.token] = fact.member;
    }
  }

  Rng rng_;
  RankFarm farm_;
  Instant now_{};
  std::multimap<Instant, std::function<void()>> queue_;
  std::optional<agent::GangAgent> agent_;
  crdt::Records disk_;
  std::uint64_t life_ = 0;
  AgentStart start_;
  std::uint64_t last_token_ = 1;
  std::set<Token> waiting_;  ///< Assigned, not started, and not ended by the log.
  std::map<Token, Member> running_;
  LoneAgentResult result_;
};

}  // namespace

LoneAgentResult run_lone_agent(std::uint64_t seed) {
  return LoneAgent(seed).run();
}

}  // namespace muster::sim
