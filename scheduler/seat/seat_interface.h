#pragma once
// The inputs and outputs of QuorumSeat. An input that goes on to the scheduler unchanged is defined
// there (scheduler/leader/scheduler.h).

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "crdt/rows/host_state.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/wire/message.h"
#include "scheduler/leader/scheduler.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/quorum_action.h"
#include "scheduler/raft/first_quorum.h"
#include "scheduler/raft/types.h"
#include "scheduler/seat/electorate_keeper.h"
#include "scheduler/seat/seat_messages.h"
#include "scheduler/state/roll_changes.h"

namespace muster::scheduler {

namespace input {
/// Ignored unless the seat hears() it.
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
/// A write of this host has waited for its disk for long. Precondition: the seat leads. It does not
/// count against this host while the disks of the others keep the log waiting as well.
struct OwnDiskLate {};
/// A row about the quorum.
struct QuorumHeard {
  crdt::QuorumView view;
};
/// A leader begins to hand over to the best successor; is_handing_over() says whether it does.
struct GiveWay {};
/// An operator's wish about the voters or the leader. Precondition: the seat leads.
struct ChangeQuorum {
  std::uint64_t request = 0;
  QuorumAction action = QuorumAction::kAdd;
  HostId host;
};
/// The live hosts, and those that left. Precondition: the seat wants_hosts().
struct HostsSeen {
  std::vector<SeenHost> hosts;
};
/// Answered by confirmed_reads or refused_reads with this number. Precondition: the seat leads.
struct Read {
  std::uint64_t request = 0;
};
/// `epoch` is obeyed on this host: a log of a lower one is set aside, and its seat given up.
struct EpochMet {
  ClusterEpoch epoch;
};
/// By an operator's order the quorum goes on from here. Precondition: `log` is the result of
/// continued_log(), and the seat got no input since.
struct Recover {
  RecoveredLog log;
};
}  // namespace input

/// ClientSubmit and ClientOrder: precondition, the seat leads.
using SeatInput =
    std::variant<input::MessageReceived, input::Persisted, input::AgentMessageReceived,
                 input::LinkReset, FirstQuorum::FoundersKnown, input::HostViewChanged,
                 input::StormChanged, input::WallClockSet, input::OwnDiskLate, input::QuorumHeard,
                 input::ClientSubmit, input::ClientOrder, input::GiveWay, input::ChangeQuorum,
                 input::RollMet, input::NotesMet, input::HostsSeen, input::Read, input::EpochMet,
                 input::Recover>;

struct SeatSend {
  HostId to;
  gossip::MessageType type{};
  Nonce nonce;
  std::string body;
  bool is_again = false;  ///< OutgoingMessage::is_again.
};
struct SeatPersist {
  std::uint64_t id = 0;
  crdt::WriteBatch writes;
};
/// The answer to ClientSubmit, ClientOrder or ChangeQuorum, by its request number.
struct SeatReply {
  std::uint64_t request = 0;
  std::optional<JobId> job;
  bool done = false;                     ///< The request was about no job, and is done.
  ErrorCode code = ErrorCode::kInvalid;  ///< Only if there is no job and `done` is false.
  std::string text;
  std::optional<Duration> retry_after{};  ///< ClientReply::retry_after.
};
SeatReply reply_of(const ClientReply& reply);
SeatReply reply_of(ElectorateKeeper::Done done);
/// The request is surely not done, and may be repeated.
SeatReply refusal(std::uint64_t request, std::string why_not);

/// The answers to requests that this host was asked.
struct SeatAnswers {
  std::vector<SeatReply> replies;
  /// Reads that may be answered now, and those that may not.
  std::vector<std::uint64_t> confirmed_reads;
  std::vector<std::uint64_t> refused_reads;

  bool is_empty() const {
    return replies.empty() && confirmed_reads.empty() && refused_reads.empty();
  }
};
/// Changes of the seat as a whole: the cluster was formed or recovered, or the process must end.
struct SeatFate {
  std::optional<ClusterId> formed;
  /// The log of Recover is durable: this epoch is to be obeyed and told from now on.
  std::optional<ClusterEpoch> recovered;
  /// Not empty: this process must end, the log holds an entry that it cannot apply.
  std::string halted;
  /// The seat is given up, and raft/ says so durably: this agent must start again, which sets raft/
  /// aside and gives the host another seat.
  bool must_restart = false;
};

struct SeatOutput {
  std::vector<SeatSend> messages;
  std::vector<SeatPersist> persists;
  std::vector<Event> events;
  SeatAnswers answers;
  std::vector<std::pair<Nonce, AgentMessage>> to_own_agent;
  /// Hosts that did not answer an Assign in time: do they hear this leader at all?
  std::vector<HostId> unanswered;
  RollChanges roll;
  SeatFate fate;
};

}  // namespace muster::scheduler
