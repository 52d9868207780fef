#pragma once
// What should happen by a seat's word: messages, writes, events, answers.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/wire/message.h"
#include "scheduler/leader/scheduler.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/seat/electorate_keeper.h"

namespace muster::scheduler {

struct SeatSend {
  HostId to;
  gossip::MessageType type{};
  Nonce nonce;
  std::string body;
};
struct SeatPersist {
  std::uint64_t id = 0;
  crdt::WriteBatch writes;
};
/// The answer to ClientSubmit, ClientOrder or ChangeQuorum, by its request number.
struct SeatReply {
  std::uint64_t request = 0;
  std::optional<JobId> job;
  bool done = false;                     ///< It was about no job, and is done.
  ErrorCode code = ErrorCode::kInvalid;  ///< Counts when there is no job and nothing done.
  std::string text;
};
SeatReply reply_of(const ClientReply& reply);
SeatReply reply_of(ElectorateKeeper::Done done);
/// Surely not done, and may be repeated.
SeatReply refusal(std::uint64_t request, std::string why_not);

struct SeatOutput {
  std::vector<SeatSend> messages;
  std::vector<SeatPersist> persists;
  std::vector<Event> events;
  std::vector<SeatReply> replies;
  std::optional<ClusterId> formed;
  std::vector<std::pair<Nonce, AgentMessage>> to_own_agent;
  /// Reads that may be answered now, and those that may not.
  std::vector<std::uint64_t> granted_reads;
  std::vector<std::uint64_t> refused_reads;
  /// Not empty: this process must end, the log holds what it cannot apply.
  std::string halted;
  /// What Recover wrote is durable: this epoch is to be obeyed and told from now on.
  std::optional<ClusterEpoch> recovered;
  /// Nobody may sit in this seat any more, and raft/ says so durably: this agent must start again,
  /// which sets raft/ aside and gives the host another seat.
  bool starts_anew = false;
};

}  // namespace muster::scheduler
