#pragma once
// What the agent's machine says until it is asked: messages, writes, commands, events. Its parts
// write here, so that what they say leaves in the order in which it was said. A part of GangAgent.
//
// Messages go to whoever leads; while nobody does they are dropped, since all of them are repeated.
// Each has a nonce of its own, which is drawn in either case: what is drawn later does not depend
// on who leads.

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/gang/words.h"
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

  /// To whom messages go from now on; zero = to nobody.
  void set_leader(HostId leader) { leader_ = leader; }
  bool has_leader() const { return !leader_.is_zero(); }

  /// The nonce under which it went, or would have gone.
  Nonce send(scheduler::AgentMessage message);
  /// The id under which it is reported as persisted; 1 is the first.
  std::uint64_t persist(crdt::WriteBatch batch);
  void command(SupervisorCommand command) { output_.commands.push_back(std::move(command)); }
  /// An event about `token`, if it is one; `detail` may be empty.
  void emit(Severity severity, std::string_view name, Token token, const std::string& detail = {});
  /// This start is refused: the agent has to start again with that generation.
  void raise_to(Generation generation) { output_.raise_to = generation; }

  /// This start is of no use: the agent has to end, and to tell people why.
  void end(const std::string& why) { output_.ends = why; }

  /// Uniform in [low, high], from the same stream as the nonces.
  Duration draw(Duration low, Duration high) { return rng_.between(low, high); }
  /// All that was said since the last call.
  GangAgentOutput take();

 private:
  Rng rng_;
  HostId leader_;
  std::uint64_t last_write_ = 0;
  GangAgentOutput output_;
};

}  // namespace muster::agent
