#pragma once
// What a seat is told. What goes on to the scheduler as it is has its word there
// (scheduler/leader/scheduler.h); the rest stands here.

#include <cstdint>
#include <variant>
#include <vector>

#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "scheduler/leader/scheduler.h"
#include "scheduler/protocol/quorum_action.h"
#include "scheduler/raft/first_quorum.h"
#include "scheduler/raft/types.h"
#include "scheduler/seat/electorate_keeper.h"
#include "scheduler/seat/seat_messages.h"

namespace muster::scheduler {

namespace input {
/// Does nothing unless the seat hears() it.
struct MessageReceived {
  HostId from;
  SeatMessage message;
};
/// The SeatPersist `id`, and all before it, are durable.
struct Persisted {
  std::uint64_t id = 0;
};
/// The transport lost its connection to that host (refused, reset, or closed by its kernel).
struct LinkReset {
  HostId host;
};
/// Some write of this host has waited for its disk for long. Precondition: the seat leads. It is
/// not held against this host while the others' disks keep the log waiting as well.
struct OwnDiskLate {};
/// A row about the quorum.
struct QuorumHeard {
  crdt::QuorumView view;
};
/// A leader begins to hand over to whoever suits best; is_handing_over() says whether it does.
struct GiveWay {};
/// Who votes, and who leads: an operator's wish. Precondition: the seat leads.
struct ChangeQuorum {
  std::uint64_t request = 0;
  QuorumAction action = QuorumAction::kAdd;
  HostId host;
};
/// The live hosts, and those that left. Precondition: the seat wants_hosts().
struct HostsSeen {
  std::vector<SeenHost> hosts;
};
/// Answered by granted_reads or refused_reads with this number. Precondition: the seat leads.
struct Read {
  std::uint64_t request = 0;
};
/// `epoch` is obeyed on this host: a log of a lower one is set aside, and its seat given up.
struct EpochMet {
  ClusterEpoch epoch;
};
/// By an operator's word the quorum goes on from here. Precondition: `log` is what continued_log()
/// gave, and the seat was told nothing since.
struct Recover {
  RecoveredLog log;
};
}  // namespace input

/// ClientSubmit and ClientOrder: precondition, the seat leads.
using SeatInput =
    std::variant<input::MessageReceived, input::Persisted, input::AgentMessageReceived,
                 input::LinkReset, FirstQuorum::SeedsKnown, input::HostViewChanged,
                 input::StormChanged, input::OwnDiskLate, input::QuorumHeard, input::ClientSubmit,
                 input::ClientOrder, input::GiveWay, input::ChangeQuorum, input::HostsSeen,
                 input::Read, input::EpochMet, input::Recover>;

}  // namespace muster::scheduler
