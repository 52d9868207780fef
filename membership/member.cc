#include "membership/member.h"

namespace muster::membership {

std::string_view name_of(MemberState state) {
  switch (state) {
    case MemberState::kAlive:
      return "alive";
    case MemberState::kSuspect:
      return "suspect";
    case MemberState::kUnreachable:
      return "unreachable";
    case MemberState::kLeft:
      return "left";
  }
  return "unknown";
}

std::string_view name_of(crdt::ClaimKind kind) {
  switch (kind) {
    case crdt::ClaimKind::kSilent:
      return "silent";
    case crdt::ClaimKind::kRefused:
      return "agent_down";
  }
  return "unknown";
}

}  // namespace muster::membership
