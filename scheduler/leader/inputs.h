#pragma once
// The inputs of Scheduler, one fact each. scheduler.h says who tells which of them, and when.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "gossip/base/storm_mode.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// A host as gossip and membership see it, quantised.
struct HostView {
  HostId host;
  AgentStart start;  ///< As gossiped; generation 0 if it is not known.
  Verdict verdict = Verdict::kAlive;
  bool degraded = false;
  bool cordoned = false;
  std::string shortage{};  ///< Why it is cordoned: it cannot start ranks now.
  std::vector<std::string> unhealthy_gpus;
  bool operator==(const HostView&) const = default;
};

namespace input {
/// A committed entry. Empty bytes: an entry of Raft itself, not to be applied.
struct Applied {
  LogIndex index;
  std::string bytes;
  std::vector<HostId> voters{};  ///< Of the configuration at that place of the log.
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
/// The storm mode as this voter sees it: it limits what silence may end (StormMode).
struct StormChanged {
  StormMode mode = StormMode::kNormal;
};
/// Voters that do not answer this leader (`hosts`), and those whose disks do not follow (`late`).
/// They get no new work, long before any verdict: a leader that took over from a frozen one would
/// place on it first of all.
struct VotersQuiet {
  std::vector<HostId> hosts;
  /// Decisions reach their disks late: reservations that wait for these voters go elsewhere.
  std::vector<HostId> late;
  bool operator==(const VotersQuiet&) const = default;
};
/// The wall clock of this host; told again when it jumped. For people alone.
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
  Subject by;
};
/// An operator's order. Its own entry answers it, whatever this leader knows already: each order
/// takes effect once, in the sequence in which the leader got them.
struct ClientOrder {
  std::uint64_t request = 0;
  std::variant<entry::Cancel, entry::Suspend, entry::Resume, entry::Requeue, entry::Fence,
               entry::Edit, entry::Drain, entry::Undrain, entry::RemoveHost, entry::MakeTicket,
               entry::EndTicket, entry::Enrol, entry::RotateKeys, entry::ReplaceAuthority,
               entry::ChangeDirectory, entry::MakeAccessToken, entry::EndAccessToken,
               entry::ResetAdmin, entry::GpuOrder, entry::SetQueues>
      order;
  /// Not zero: the order ends this host's vote, before its entry is proposed. Refused while the
  /// vote cannot be spared.
  HostId ends_vote_of{};
};
/// Records of the roll that the authority signed, from any source, for the log to hold; and the
/// rotation of keys, the change of the authority or the first administrator that is due.
struct RollMet {
  std::vector<entry::Enrol> records;
  std::optional<entry::RotateKeys> rotation{};
  std::optional<entry::ReplaceAuthority> authority{};
  std::optional<entry::FoundDirectory> directory{};
  bool is_empty() const { return records.empty() && !rotation && !authority && !directory; }
};
/// Refused requests that a host reports, for the audit. The log takes a batch once.
struct NotesMet {
  entry::NoteRequests batch;
};
}  // namespace input

}  // namespace muster::scheduler
