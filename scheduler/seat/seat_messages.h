#pragma once
// The messages between seats: those of the first quorum and those of Raft. Rules about one such
// message; QuorumSeat acts on it.

#include <optional>
#include <variant>

#include "gossip/wire/message.h"
#include "scheduler/raft/first_quorum_messages.h"
#include "scheduler/raft/types.h"

namespace muster::scheduler {

using SeatMessage = std::variant<QuorumMessage, RaftMessage>;

/// nullopt if `type` is not a message of a seat or the body is invalid.
std::optional<SeatMessage> decode_seat_message(gossip::MessageType type, gossip::Reader body);

/// True for the log of a leader: if the receiver has no seat, the leader counts it among its
/// learners. False for an Append of term 0: it is a voter's question, which may go to any host.
bool is_invitation(const RaftMessage& message);

/// Whether `message` comes from the seat `voter`. A host on a new disk still sends Raft messages;
/// they count towards no majority.
bool is_from_seat(const RaftMessage& message, SeatId voter);

}  // namespace muster::scheduler
