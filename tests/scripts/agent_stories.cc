// Stories of one agent whose leader's words come late, twice or in the wrong order: a GangAgent by
// itself, with the story as its leader, its disk and its supervisors.

#include "agent/gang/gang_agent.h"

#include "tests/scripts/script.h"

namespace muster::scripts {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::GpuSlot;
using scheduler::Member;

const HostId kAgent = HostId::from_bytes("agent___________");
const HostId kLeader = HostId::from_bytes("leader__________");
constexpr Token kOlder{1, 10};
constexpr Token kNewer{1, 20};
const gossip::Endpoint kMaster = gossip::Endpoint::ipv4(10, 0, 0, 1, 29500);

/// One host with GPUs a and b. Writes are durable at sync(), not before.
class Desk {
 public:
  explicit Desk(Script& script) : script_(script) {
    script.names().of(kOlder);  // t1
    script.names().of(kNewer);  // t2
    boot();
    give(agent::SupervisorsScanned{});
    give(agent::LeaderChanged{kLeader, Term(1)});
    register_agent();  // The first reply tells the floor, the second registers the GPUs.
    register_agent();
    listening_ = true;
  }

  void boot() {
    ++generation_;
    disk_under_way_.clear();
    machine_.emplace(agent::GangAgentOptions{},
                     agent::AgentIdentity{kAgent, start(), "boot", "agent"}, disk_,
                     agent::Inventory{"H100", {"a", "b"}, 4, 1024}, Rng(script_.seed()), now_);
    collect();
  }
  AgentStart start() const { return {Generation(generation_), StartId(100 + generation_)}; }

  void give(agent::GangAgentInput input) {
    machine_->step(now_, std::move(input));
    collect();
  }
  void hear(scheduler::AgentMessage message, Nonce nonce = Nonce()) {
    if (listening_) {
      script_.line("leader >", script_.names().of(message));
    }
    give(agent::LeaderMessage{kLeader, nonce, std::move(message)});
  }
  void sync() {
    while (!disk_under_way_.empty()) {
      const agent::AgentPersist write = disk_under_way_.front();
      disk_under_way_.erase(disk_under_way_.begin());
      for (const crdt::Write& one : write.writes) {
        one.value.has_value() ? void(disk_[one.key] = *one.value) : void(disk_.erase(one.key));
      }
      tell("disk", std::to_string(write.writes.size()) + " writes durable");
      give(agent::Persisted{write.id});
    }
  }
  void pass(Duration time) {
    const Instant end = now_ + time;
    while (machine_->next_deadline() <= end) {
      now_ = std::max(now_, machine_->next_deadline());
      machine_->tick(now_);
      collect();
    }
    now_ = end;
  }
  void register_agent() {
    sync();
    scheduler::HelloReply reply;
    reply.start_id = start().start_id;
    reply.registered = true;
    hear(reply, last_hello_);
    sync();
  }

  scheduler::Assign assign(Token token) const {
    scheduler::Assign message;
    message.token = token;
    message.start = start();
    message.job = JobId(token.index / 10);
    message.spec.command.argv = {"train"};
    message.members = {Member{kAgent, start(), {GpuSlot{"a", 0}}, 0}};
    message.hold = 60s;
    return message;
  }
  scheduler::Start start_of(Token token) const { return {token, start(), kMaster}; }
  void make_ready(Token token) {
    hear(assign(token));
    sync();
    give(agent::SupervisorPrepared{token, kMaster});
  }

 private:
  void tell(const std::string& who, const std::string& what) {
    if (listening_) {
      script_.line(who, what);
    }
  }
  void collect() {
    machine_->check_invariants();
    agent::GangAgentOutput output = machine_->take_output();
    for (const Event& event : output.events) {
      if (event.severity != Severity::kDebug) {
        tell("agent", script_.names().of(event));
      } else {
        tell("agent", "drops: " + script_.names().of(event));
      }
    }
    for (const agent::SupervisorCommand& command : output.commands) {
      tell("agent", std::visit([this](const auto& one) { return text_of(one); }, command));
    }
    for (const agent::AgentSend& send : output.messages) {
      if (std::holds_alternative<scheduler::Hello>(send.message)) {
        last_hello_ = send.nonce;
      }
      tell("agent >", script_.names().of(send.message));
    }
    for (agent::AgentPersist& persist : output.persists) {
      disk_under_way_.push_back(std::move(persist));
    }
  }
  std::string text_of(const agent::Prepare& one) {
    return "prepares a supervisor for " + script_.names().of(one.token);
  }
  std::string text_of(const agent::Launch& one) {
    return "launches the ranks of " + script_.names().of(one.record.token);
  }
  std::string text_of(const agent::Terminate& one) {
    return "terminates the ranks of " + script_.names().of(one.token);
  }
  std::string text_of(const agent::RenewHold& one) {
    return "renews the hold of " + script_.names().of(one.token);
  }
  std::string text_of(const agent::Forget& one) {
    return "forgets the supervisor of " + script_.names().of(one.token);
  }

  Script& script_;
  Instant now_{1000s};
  std::uint64_t generation_ = 0;
  crdt::Records disk_;
  std::vector<agent::AgentPersist> disk_under_way_;
  std::optional<agent::GangAgent> machine_;
  Nonce last_hello_;
  bool listening_ = false;
};

void stale_token(Script& script) {
  Desk desk(script);
  script.say("the newer token comes first");
  desk.make_ready(kNewer);
  script.say("an Assign of a leader that was replaced comes late, for the same GPU");
  desk.hear(desk.assign(kOlder));
  desk.sync();
  script.say("and its Start, as if somebody had said Ready");
  desk.hear(desk.start_of(kOlder));
  desk.sync();
  script.say("the newer one is not disturbed");
  desk.hear(desk.start_of(kNewer));
  desk.sync();
}

void higher_revokes(Script& script) {
  Desk desk(script);
  desk.make_ready(kOlder);
  desk.hear(desk.start_of(kOlder));
  desk.sync();
  desk.give(agent::RanksStarted{kOlder});
  script.say("the log gave the GPU to another attempt; its Assign is here before any Stop");
  desk.hear(desk.assign(kNewer));
  desk.sync();
  desk.give(agent::SupervisorPrepared{kNewer, kMaster});
  script.say("no Ready yet: the older ranks are still there; now they are gone");
  scheduler::RankResult result;
  result.kind = scheduler::RankResult::Kind::kSignalled;
  result.code = 15;
  result.signalled_by_us = true;
  desk.give(agent::AllRanksEnded{kOlder, {result}});
  desk.sync();
}

void late_start(Script& script) {
  Desk desk(script);
  desk.make_ready(kOlder);
  script.say("61 s pass; the hold of 60 s began with Ready");
  desk.pass(61s);
  desk.sync();
  script.say("Start arrives after all");
  desk.hear(desk.start_of(kOlder));
  desk.sync();
}

void start_after_restart(Script& script) {
  Desk desk(script);
  desk.make_ready(kOlder);
  const scheduler::Start start = desk.start_of(kOlder);
  script.say("the agent restarts; the supervisor it had prepared died with its socket");
  desk.boot();
  desk.give(agent::SupervisorGone{kOlder, std::nullopt});
  desk.give(agent::SupervisorsScanned{});
  desk.give(agent::LeaderChanged{kLeader, Term(1)});
  desk.register_agent();
  script.say("the Start that was under way names the start before; then one for this start");
  desk.hear(start);
  desk.hear(desk.start_of(kOlder));
  desk.sync();
}

void repeated_words(Script& script) {
  Desk desk(script);
  script.say("every word of the leader comes twice");
  desk.make_ready(kOlder);
  desk.hear(desk.assign(kOlder));
  desk.sync();
  desk.hear(desk.start_of(kOlder));
  desk.hear(desk.start_of(kOlder));
  desk.sync();
  desk.give(agent::RanksStarted{kOlder});
  desk.hear(desk.start_of(kOlder));
  const scheduler::Stop stop{kOlder, desk.start(), 10s, "cancelled"};
  desk.hear(stop);
  desk.hear(stop);
  scheduler::RankResult result;
  result.signalled_by_us = true;
  desk.give(agent::AllRanksEnded{kOlder, {result}});
  desk.sync();
  script.say("the Finish is repeated until it is acknowledged, and no longer");
  desk.pass(2s);
  desk.hear(scheduler::FinishAck{kOlder});
  desk.sync();
  desk.hear(scheduler::FinishAck{kOlder});
  desk.pass(20s);
}

}  // namespace

std::vector<Story> agent_stories() {
  return {
      story("stale_token_refused", "A leader that was replaced still assigns under its token.",
            "The fence on disk refuses it; nothing of the newer attempt changes.", stale_token),
      story("higher_token_revokes", "An Assign with a higher token meets running ranks.",
            "They are terminated, and Ready waits until they are gone.", higher_revokes),
      story("late_start_refused", "Start comes after the hold of READY has lapsed.",
            "ABORTED is stored, Start is answered with `never ran`, nothing is launched.",
            late_start),
      story("start_after_restart_refused", "An agent restarts between Ready and Start.",
            "READY did not survive; a Start of either pair launches nothing.", start_after_restart),
      story("every_word_twice", "Assign, Start, Stop and FinishAck all come twice.",
            "One launch, one termination; answers are repeated, deeds are not.", repeated_words),
  };
}

}  // namespace muster::scripts
