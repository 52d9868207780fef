#pragma once
// OneLeader: one leader for scripted conversations: its proposals come back as applied entries, its
// rounds are answered, and the test plays the agents. Time is a number.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/leader/scheduler.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler::testing {

class OneLeader : public ::testing::Test {
 protected:
  OneLeader() : scheduler(SchedulerConfig(), State(), now) { lead(); }

  void lead() {
    give(input::LeadershipChanged{true, false});
    give(input::Applied{next_index(), ""});
    give(input::LeadershipChanged{true, true});
  }
  LogIndex next_index() { return index = index.next(); }

  /// One input and all that follows from it at this moment.
  void give(Scheduler::Input input) {
    scheduler.step(now, std::move(input));
    settle();
  }
  void settle() {
    for (int round = 0; round < 1000; ++round) {
      scheduler.check_invariants();
      Scheduler::Output output = scheduler.take_output();
      std::move(output.messages.begin(), output.messages.end(), std::back_inserter(messages));
      std::move(output.replies.begin(), output.replies.end(), std::back_inserter(replies));
      std::move(output.events.begin(), output.events.end(), std::back_inserter(events));
      std::move(output.proposals.begin(), output.proposals.end(), std::back_inserter(pending));
      std::move(output.round_requests.begin(), output.round_requests.end(),
                std::back_inserter(rounds));
      halted = halted.empty() ? output.halted : halted;
      if (answer_rounds && !rounds.empty()) {
        const std::uint64_t context = rounds.front();
        rounds.erase(rounds.begin());
        scheduler.step(now, input::MajorityRound{context});
        continue;
      }
      if (!commit || pending.empty()) {
        break;
      }
      const std::string bytes = pending.front();
      pending.erase(pending.begin());
      scheduler.step(now, input::Applied{next_index(), bytes});
      scheduler.check_everything();
    }
  }
  void pass(Duration time) {
    const Instant until = now + time;
    for (int round = 0; scheduler.next_deadline() <= until; ++round) {
      ASSERT_LT(round, 100'000) << "a deadline that stays in the past";
      now = std::max(now, scheduler.next_deadline());
      scheduler.tick(now);
      settle();
    }
    now = until;
  }

  void hear(std::uint64_t host, AgentMessage message, Nonce nonce = Nonce()) {
    give(input::AgentMessageReceived{host_id(host), nonce, std::move(message)});
  }
  Hello hello_of(std::uint64_t host, std::uint64_t generation = 1, std::uint32_t gpus = 4) {
    Hello hello;
    hello.start = pair_of(generation);
    hello.boot_id = "boot-1";
    hello.name = "host" + std::to_string(host);
    hello.gpu_type = "H100";
    hello.gpus = uuids_of(host, gpus);
    return hello;
  }
  void join(std::uint64_t host) {
    hear(host, hello_of(host), Nonce(host));
    see(host, Verdict::kAlive);
  }
  void see(std::uint64_t host, Verdict verdict, std::uint64_t generation = 1) {
    HostView view;
    view.host = host_id(host);
    view.start = pair_of(generation);
    view.verdict = verdict;
    give(input::HostViewChanged{view});
  }
  JobId submit(std::uint32_t gpus, const std::string& key) {
    give(input::ClientSubmit{++request, key, spec_of(gpus), "alice"});
    return replies.empty() ? JobId() : replies.back().job;
  }
  /// Messages of one type to a host since the last forget().
  template <class T>
  std::vector<T> said(std::uint64_t host) const {
    std::vector<T> found;
    for (const OutgoingMessage& message : messages) {
      if (message.to == host_id(host) && std::holds_alternative<T>(message.message)) {
        found.push_back(std::get<T>(message.message));
      }
    }
    return found;
  }
  void forget() { messages.clear(); }
  /// The agent of `host` is ready for its last Assign.
  Token ready(std::uint64_t host) {
    const Assign assign = said<Assign>(host).back();
    hear(host, Ready{assign.token, assign.start, gossip::Endpoint::ipv4(127, 0, 0, 1, 999)});
    return assign.token;
  }
  void finish(std::uint64_t host, const Token& token, std::int32_t code, bool signalled = false) {
    const Member member = scheduler.state().attempt(token)->find(host_id(host))->member;
    hear(host, Finish{token, member.start, results_of(member, code, signalled), true});
  }
  const Job& job(JobId number) { return *scheduler.state().job(number); }
  /// Three hosts, a gang over 1 and 2, running.
  Token running_gang() {
    join(1);
    join(2);
    id = submit(8, "gang");
    ready(1);
    return ready(2);
  }
  /// Both hosts of a running gang were silent for as long as is borne, and nothing commits.
  Token silent_gang_with_condemns_in_flight() {
    const Token token = running_gang();
    see(1, Verdict::kSilent);
    see(2, Verdict::kSilent);
    pass(std::chrono::seconds(9));
    commit = false;
    pass(std::chrono::milliseconds(1500));
    return token;
  }
  void restart_with_snapshot() {
    const Result<State> copy = State::decode(scheduler.state().encode());
    ASSERT_TRUE(copy.has_value());
    scheduler = Scheduler(SchedulerConfig(), *copy, now);
    lead();
  }

  Instant now{std::chrono::hours(1)};
  LogIndex index;
  Scheduler scheduler;
  std::vector<OutgoingMessage> messages;
  std::vector<ClientReply> replies;
  std::vector<Event> events;
  std::vector<std::string> pending;
  std::vector<std::uint64_t> rounds;
  bool answer_rounds = true;
  bool commit = true;
  std::string halted;
  std::uint64_t request = 0;
  JobId id;
};

}  // namespace muster::scheduler::testing
