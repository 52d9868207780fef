#pragma once
// What the scheduler is told: one fact each. Words alone; scheduler.h says who tells what and when.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "gossip/base/storm_mode.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// What gossip and membership say of a host, quantised.
struct HostView {
  HostId host;
  AgentStart start;  ///< As gossiped; generation 0 = not known.
  Verdict verdict = Verdict::kAlive;
  bool degraded = false;
  bool cordoned = false;
  std::string shortage{};  ///< Why it is cordoned: it can start nothing now.
  std::vector<std::string> unhealthy_gpus;
  bool operator==(const HostView&) const = default;
};

namespace input {
/// A committed entry. Empty bytes: an entry of Raft's own, nothing to apply.
struct Applied {
  LogIndex index;
  std::string bytes;
};
/// Raft installed a snapshot: the state is replaced.
struct Restored {
  State state;
};
struct LeadershipChanged {
  bool leads = false;
  bool own_term_applied = false;
};
struct AgentMessageReceived {
  HostId from;
  Nonce nonce;
  AgentMessage message;
};
struct HostViewChanged {
  HostView view;
};
/// What the silent hosts look like from here: it says what silence may end (StormMode).
struct StormChanged {
  StormMode mode = StormMode::kNormal;
};
/// Voters that do not answer this leader (`hosts`), and those whose disks do not follow (`late`).
/// Nothing new is placed there, long before any verdict: a leader that took over from a frozen one
/// would place on it first of all.
struct VotersQuiet {
  std::vector<HostId> hosts;
  /// What was decided is not on their disks for long: reservations that wait for them go elsewhere.
  std::vector<HostId> late;
  bool operator==(const VotersQuiet&) const = default;
};
/// What this host's wall clock shows now; said again when it jumped. For people alone.
struct WallClockSet {
  std::int64_t unix_ms = 0;
};
/// The round of this context was answered by a majority.
struct MajorityRound {
  std::uint64_t context = 0;
};
struct ClientSubmit {
  std::uint64_t request = 0;
  std::string key;
  JobSpec spec;
  std::string submitted_by;
};
/// An operator's word. It is answered by its own entry, whatever this leader knows already: each
/// takes effect once, in the order in which they were said to the leader.
struct ClientOrder {
  std::uint64_t request = 0;
  std::variant<entry::Cancel, entry::Suspend, entry::Resume, entry::Requeue, entry::Fence,
               entry::Edit, entry::Drain, entry::Undrain, entry::RemoveHost, entry::MakeTicket,
               entry::EndTicket, entry::Enrol, entry::RotateKeys, entry::ReplaceAuthority>
      order;
  /// Not zero: the order takes this host's vote, which goes first. Refused while it cannot be
  /// spared.
  HostId ends_vote_of{};
};
/// Records of the roll that are the authority's, from wherever: the log shall hold them. And what
/// the roll is due to besides.
struct RollMet {
  std::vector<entry::Enrol> records;
  std::optional<entry::RotateKeys> rotation{};
  std::optional<entry::ReplaceAuthority> authority{};
  bool is_empty() const { return records.empty() && !rotation && !authority; }
};
}  // namespace input

}  // namespace muster::scheduler
