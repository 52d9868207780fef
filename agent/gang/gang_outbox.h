#pragma once
// GangOutbox collects the output of GangAgent: messages, writes, commands and events. The parts of
// GangAgent write to it, so that all output leaves in the order in which it was made. Owned by
// GangAgent.
//
// Messages go to the leader. Without a leader it drops them, for all of them are repeated. It draws
// a nonce for each in either case: later draws do not depend on the leader.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/gang/gang_interface.h"
#include "crdt/disk/write_batch.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

class GangOutbox {
 public:
  explicit GangOutbox(Rng rng) : rng_(rng) {}

  /// Messages go to `leader` from now on; zero = there is no leader.
  void set_leader(HostId leader) { leader_ = leader; }
  bool has_leader() const { return !leader_.is_zero(); }

  /// Returns the nonce of the message, also if it was dropped.
  Nonce send(scheduler::AgentMessage message);
  /// Returns the id of the write, which Persisted names; the first is 1.
  std::uint64_t persist(crdt::WriteBatch batch);
  void command(SupervisorCommand command) { output_.commands.push_back(std::move(command)); }
  /// The grant has ended: from here on nobody knows whether its GPUs are clean.
  void note_ended(Token token) { ended_.push_back(token); }
  std::vector<Token> take_ended() { return std::exchange(ended_, {}); }
  void clean(GpuToClean gpu) { output_.to_clean.push_back(std::move(gpu)); }
  /// Emits an event about `token`, unless that is zero; `detail` may be empty.
  void emit(Severity severity, std::string_view name, Token token, const std::string& detail = {});
  void order(scheduler::GpuOrder order) { output_.gpu_orders.push_back(std::move(order)); }
  /// The quorum refuses this start: the agent has to start again with that generation.
  void raise_to(Generation generation) { output_.raise_to = generation; }

  /// The quorum refuses this start for good: the agent ends and tells people why.
  void end(const std::string& why) { output_.ends = why; }

  /// Uniform in [low, high], from the same stream as the nonces.
  Duration draw(Duration low, Duration high) { return rng_.between(low, high); }
  /// The output since the last call.
  GangAgentOutput take();

 private:
  Rng rng_;
  HostId leader_;
  std::uint64_t last_write_ = 0;
  std::vector<Token> ended_;
  GangAgentOutput output_;
};

}  // namespace muster::agent
