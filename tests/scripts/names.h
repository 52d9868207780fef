#pragma once
// Names instead of numbers, so that a golden conversation reads well and does not change with facts
// that it does not tell: hosts are h0, h1, ..., tokens t1, t2, ... in the order of appearance.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/wire/message.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::scripts {

class Names {
 public:
  void host(HostId id, std::string name) { hosts_[id] = std::move(name); }
  std::string of(HostId id) const;
  std::string of(Token token);

  /// `name key=value ...` with ids and tokens named. Fields that only count or identify a run (log
  /// indexes, cluster ids) are left out.
  std::string of(const Event& event);
  std::string of(const scheduler::AgentMessage& message);
  /// The text of a message; nullopt for a kind that no script tells of (probes, heartbeats, rows).
  std::optional<std::string> of(const gossip::Message& message);

 private:
  std::string value(std::string_view key, const std::string& text);

  std::map<HostId, std::string> hosts_;
  std::map<std::string, std::string> tokens_;  ///< By Token::text().
};

}  // namespace muster::scripts
