#pragma once
// GpuCleaning decides which GPUs of this host have to be seen clean before a rank gets them:
// those of a grant that ended, those of an orphan, and those on which the agent finds no grant when
// it begins. StuckGpus keeps them. It is made for a step and owns nothing.

#include <string>
#include <vector>

#include "agent/gang/gang_interface.h"
#include "agent/gang/gang_outbox.h"
#include "agent/gang/grants.h"
#include "agent/gang/hello_exchange.h"
#include "agent/gang/stuck_gpus.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"

namespace muster::agent {

class GpuCleaning {
 public:
  GpuCleaning(const Inventory& inventory, Grants& grants, StuckGpus& stuck, HelloExchange& hello,
              GangOutbox& out)
      : inventory_(inventory), grants_(grants), stuck_(stuck), hello_(hello), out_(out) {}

  /// For each of `uuids` without a grant: an earlier life of this agent, or a stranger, may have
  /// left something there.
  void withhold_idle(Instant now, const std::vector<std::string>& uuids);
  /// For GPUs of grants whose ranks are gone since the last call: what they left is not known yet.
  void withhold_ended(Instant now);
  /// No process is left under this token. True if it was an orphan's: it may have held its GPUs in
  /// a look that found no process on them.
  bool forget_orphan(Instant now, Token token);

 private:
  void withhold_listed(Instant now, const std::string& uuid, Token token);

  const Inventory& inventory_;
  Grants& grants_;
  StuckGpus& stuck_;
  HelloExchange& hello_;
  GangOutbox& out_;
};

}  // namespace muster::agent
