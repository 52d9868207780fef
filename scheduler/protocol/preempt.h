#pragma once
// The entry that makes attempts give way to a job that waits. scheduler/state/preemption.h says
// what it does.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/version.h"
#include "gossip/wire/wire.h"
#include "scheduler/protocol/member.h"

namespace muster::scheduler {

/// Victims of one entry.
inline constexpr std::size_t kVictimsMax = 4096;
/// Hosts of one entry: with them a preemption fits into one document of a snapshot.
inline constexpr std::size_t kPreemptMembersMax = 1024;

namespace entry {
struct Preempt {
  JobId job;                    ///< It waits; what the victims leave is kept for it.
  std::uint32_t attempt = 1;    ///< The number that its next attempt will have.
  std::vector<Member> members;  ///< As a Decide would give them to it once the victims are gone.
  std::vector<Token> victims;   ///< In their order, each once.
  LogIndex seen;                ///< The leader had applied the log up to here.
  std::uint32_t policy = kPolicyVersion;  ///< Of that leader's rules of choosing.
  bool operator==(const Preempt&) const = default;
};
}  // namespace entry

/// Number of elements behind the header of the entry.
inline constexpr std::size_t kPreemptElements = 6;
void write(gossip::Encoder& out, const entry::Preempt& fact);
entry::Preempt read_preempt(gossip::Reader& in);

}  // namespace muster::scheduler
