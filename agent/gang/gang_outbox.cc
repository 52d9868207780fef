#include "agent/gang/gang_outbox.h"

#include <utility>

namespace muster::agent {

Nonce GangOutbox::send(scheduler::AgentMessage message) {
  const Nonce nonce(rng_.next() | 1);
  if (has_leader()) {
    output_.messages.push_back({leader_, nonce, std::move(message)});
  }
  return nonce;
}

std::uint64_t GangOutbox::persist(crdt::WriteBatch batch) {
  const std::uint64_t id = ++last_write_;
  output_.persists.push_back({id, std::move(batch)});
  return id;
}

void GangOutbox::emit(Severity severity, std::string_view name, Token token,
                      const std::string& detail) {
  Event event{severity, name, {}};
  if (!token.is_none()) {
    event.fields.emplace_back("token", token.text());
  }
  if (!detail.empty()) {
    event.fields.emplace_back("detail", detail);
  }
  output_.events.push_back(std::move(event));
}

GangAgentOutput GangOutbox::take() {
  return std::exchange(output_, GangAgentOutput{});
}

}  // namespace muster::agent
