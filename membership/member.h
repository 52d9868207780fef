#pragma once
// One host as membership knows it: what its row says of it and what the tally of its observers'
// claims makes of that.

#include <string>
#include <string_view>
#include <vector>

#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"

namespace muster::membership {

enum class MemberState : std::uint8_t {
  kAlive,
  kSuspect,      ///< L..H-1 claims: no reason to act, a reason to look.
  kUnreachable,  ///< H claims: no new work. Nothing is freed or removed by it.
  kLeft,         ///< Said goodbye; stays until a newer generation.
};

std::string_view name_of(MemberState state);
/// "silent" or "agent_down".
std::string_view name_of(crdt::ClaimKind kind);

struct Member {
  HostId host;
  AgentStart start;
  std::string rack;               ///< "" = unknown.
  std::vector<HostId> observers;  ///< From its own row: the fixed denominator of the tally.
  bool left = false;
  bool doubled = false;  ///< Two starts of this generation were seen: two agents under one id.

  MemberState state = MemberState::kAlive;
  crdt::ClaimKind kind = crdt::ClaimKind::kSilent;  ///< Of a suspicion or verdict.
  Instant since;                                    ///< When `state` began, here.
  Instant below_since = kNever;  ///< Unreachable, and the tally has been below L since then.
};

}  // namespace muster::membership
