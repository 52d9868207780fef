#pragma once
// One GangAgent and all that it talks to: the fixture plays the disk, the supervisors and the
// leader. A write counts only after sync(); time passes only in pass().

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "agent/gang/gang_agent.h"

namespace muster::agent::testing {

using scheduler::Assign;
using scheduler::Finish;
using scheduler::FinishAck;
using scheduler::GrantState;
using scheduler::Hello;
using scheduler::HelloReply;
using scheduler::Member;
using scheduler::RankResult;
using scheduler::Ready;
using scheduler::Refuse;
using scheduler::Renew;
using scheduler::RenewAck;

inline const HostId kMe = HostId::from_bytes("me______________");
inline const HostId kLeader = HostId::from_bytes("leader__________");
inline const HostId kOther = HostId::from_bytes("other___________");
inline constexpr AgentStart kStart{Generation(3), StartId(33)};
inline constexpr Duration kHold = std::chrono::seconds(60);
inline constexpr Token kOne{1, 10};
inline constexpr Token kTwo{1, 20};

class GangAgentTest : public ::testing::Test {
 protected:
  GangAgentTest() { boot(kStart); }

  void boot(AgentStart start) {
    start_ = start;
    agent_.emplace(GangAgentOptions{}, AgentIdentity{kMe, start, "boot", "me"}, disk_,
                   Inventory{"H100", {"a", "b"}, 4, 1024}, Rng(7), now_);
    unsynced_.clear();
    out_ = {};
  }

  /// Registered, with a known fence on both GPUs.
  void join() {
    give(SupervisorsScanned{});
    give(LeaderChanged{kLeader, Term(1)});
    sync();
    answer_hello({});
    sync();
    answer_hello({});
    clear();
  }

  void give(GangAgentInput input) {
    agent_->step(now_, std::move(input));
    collect();
  }
  void pass(Duration time) {
    const Instant end = now_ + time;
    while (agent_->next_deadline() <= end) {
      now_ = std::max(now_, agent_->next_deadline());
      agent_->tick(now_);
      collect();
    }
    now_ = end;
  }
  void collect() {
    agent_->check_invariants();
    GangAgentOutput output = agent_->take_output();
    std::move(output.messages.begin(), output.messages.end(), std::back_inserter(out_.messages));
    std::move(output.commands.begin(), output.commands.end(), std::back_inserter(out_.commands));
    std::move(output.persists.begin(), output.persists.end(), std::back_inserter(unsynced_));
    std::move(output.events.begin(), output.events.end(), std::back_inserter(out_.events));
    std::move(output.to_clean.begin(), output.to_clean.end(), std::back_inserter(out_.to_clean));
    out_.ends = output.ends.empty() ? out_.ends : output.ends;
    if (output.raise_to != Generation()) {
      out_.raise_to = output.raise_to;
    }
  }
  /// Everything written so far becomes durable, in order.
  void sync() {
    while (!unsynced_.empty()) {
      const AgentPersist write = unsynced_.front();
      unsynced_.erase(unsynced_.begin());
      for (const crdt::Write& one : write.writes) {
        if (one.value.has_value()) {
          disk_[one.key] = *one.value;
        } else {
          disk_.erase(one.key);
        }
      }
      give(Persisted{write.id});
    }
  }
  void clear() { out_ = {}; }

  template <class T>
  std::vector<T> sent() const {
    std::vector<T> found;
    for (const AgentSend& send : out_.messages) {
      if (const T* message = std::get_if<T>(&send.message)) {
        found.push_back(*message);
      }
    }
    return found;
  }
  template <class T>
  Nonce nonce_of_last() const {
    Nonce nonce;
    for (const AgentSend& send : out_.messages) {
      nonce = std::holds_alternative<T>(send.message) ? send.nonce : nonce;
    }
    return nonce;
  }
  template <class T>
  std::vector<T> commands() const {
    std::vector<T> found;
    for (const SupervisorCommand& command : out_.commands) {
      if (const T* one = std::get_if<T>(&command)) {
        found.push_back(*one);
      }
    }
    return found;
  }

  void say(scheduler::AgentMessage message, Nonce nonce = Nonce()) {
    give(LeaderMessage{kLeader, nonce, std::move(message)});
  }
  void answer_hello(HelloReply reply) {
    reply.start_id = start_.start_id;
    reply.registered = reply.raise_to == Generation() && reply.why.empty();
    say(reply, nonce_of_last<Hello>());
  }
  Assign assign(Token token, std::vector<scheduler::GpuSlot> gpus = {{"a", 0}}) const {
    Assign message;
    message.token = token;
    message.start = start_;
    message.job = JobId(1);
    message.spec.command.argv = {"train"};
    message.spec.user = "anna";
    message.members = {Member{kMe, start_, std::move(gpus), 0},
                       Member{kOther, {Generation(1), StartId(1)}, {{"z", 0}}, 1}};
    message.hold = kHold;
    return message;
  }
  void make_ready(Token token, std::vector<scheduler::GpuSlot> gpus = {{"a", 0}}) {
    say(assign(token, std::move(gpus)));
    sync();
    give(SupervisorPrepared{token, gossip::Endpoint::ipv4(10, 0, 0, 1, 4000)});
  }
  void start(Token token) {
    say(scheduler::Start{token, start_, gossip::Endpoint::ipv4(10, 0, 0, 1, 4000)});
  }
  void stop(Token token) {
    say(scheduler::Stop{token, start_, std::chrono::seconds(10), "cancel"});
  }
  void make_running(Token token) {
    make_ready(token);
    start(token);
    sync();
    give(RanksStarted{token});
  }
  std::ptrdiff_t told(std::string_view event) const {
    return std::count_if(out_.events.begin(), out_.events.end(),
                         [event](const Event& each) { return each.name == event; });
  }
  std::vector<RankResult> ended(std::int32_t code) const {
    RankResult result;
    result.code = code;
    return {result};
  }
  std::optional<GrantState> state_of(Token token) const {
    const GrantRecord* record = agent_->find(token);
    return record == nullptr ? std::nullopt : std::optional(record->state);
  }
  std::optional<GrantState> stored_state_of(Token token) const {
    const auto it = disk_.find(key_of_grant(token));
    return it == disk_.end() ? std::nullopt : std::optional(decode_grant(it->second).value().state);
  }

  Instant now_{std::chrono::seconds(1000)};
  AgentStart start_;
  crdt::Records disk_;
  std::vector<AgentPersist> unsynced_;
  std::optional<GangAgent> agent_;
  GangAgentOutput out_;
};

}  // namespace muster::agent::testing
