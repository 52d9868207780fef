#pragma once
// OneVoter: one voter, host 1, as the machine alone. The test plays its disk and its peers.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/raft/raft.h"
#include "tests/scheduler/raft/host.h"

namespace muster::scheduler {

class OneVoter : public testing::Test {
 protected:
  void start(RecoveredLog log) {
    raft.emplace(RaftConfig(), host(1), Rng(1), std::move(log), now);
    take();
  }
  void start(const std::vector<HostId>& voters) {
    RecoveredLog log;
    log.snapshot.configuration = founding(voters);
    start(std::move(log));
  }
  /// Its output since the last time.
  void take() {
    raft->check_invariants();
    out = raft->take_output();
    if (out.persists.empty()) {
      return;
    }
    last_persist = out.persists.back().id;
    if (syncs_at_once) {
      raft->step(now, Raft::Persisted{last_persist});
      Raft::Output more = raft->take_output();
      std::move(more.messages.begin(), more.messages.end(), std::back_inserter(out.messages));
    }
  }
  void step(Raft::Input input) {
    raft->step(now, std::move(input));
    take();
  }
  void hear(std::uint8_t from, RaftMessage message) {
    step(Raft::PeerMessage{host(from), std::move(message)});
  }
  void wait(Duration duration) {
    now += duration;
    raft->tick(now);
    take();
  }
  /// All that it wrote is durable.
  void sync() { step(Raft::Persisted{last_persist}); }
  /// The bodies of one kind in the last output.
  template <class Body>
  std::vector<Body> sent() const {
    std::vector<Body> bodies;
    for (const RaftSend& send : out.messages) {
      if (const auto* body = std::get_if<Body>(&send.message); body != nullptr) {
        bodies.push_back(*body);
      }
    }
    return bodies;
  }
  /// The receivers of these bodies in the last output, in the same order.
  template <class Body>
  std::vector<HostId> sent_to() const {
    std::vector<HostId> hosts;
    for (const RaftSend& send : out.messages) {
      if (std::holds_alternative<Body>(send.message)) {
        hosts.push_back(send.to);
      }
    }
    return hosts;
  }
  bool event(std::string_view name) const {
    return std::any_of(out.events.begin(), out.events.end(),
                       [&](const Event& one) { return one.name == name; });
  }
  /// Through pre-vote and vote into the next term, by the votes of the hosts from 2 to
  /// `last_elector`.
  void be_elected(std::uint8_t last_elector = 2) {
    wait(std::chrono::milliseconds(1500));
    for (const bool pre_vote : {true, false}) {
      const VoteRequest asked = sent<VoteRequest>().front();
      for (std::uint8_t number = 2; number <= last_elector; ++number) {
        hear(number, VoteReply{asked.term, pre_vote, true, asked.request});
      }
      if (pre_vote && !syncs_at_once) {
        sync();
      }
    }
    ASSERT_EQ(raft->role(), Role::kLeader);
  }

  Instant now = Instant{} + std::chrono::seconds(100);
  bool syncs_at_once = false;  ///< The disk takes no time.
  std::optional<Raft> raft;
  Raft::Output out;  ///< The last one.
  std::uint64_t last_persist = 0;
};

}  // namespace muster::scheduler
