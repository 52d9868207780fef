#pragma once
// What hosts say to each other's seats: the words of the first quorum, and those of Raft. Rules
// about one such message; what a seat does with it is quorum_seat.h's.

#include <optional>
#include <variant>

#include "gossip/wire/message.h"
#include "scheduler/raft/first_quorum_messages.h"
#include "scheduler/raft/types.h"

namespace muster::scheduler {

using SeatMessage = std::variant<QuorumMessage, RaftMessage>;

/// Nothing when `type` is none of these or the body does not fit.
std::optional<SeatMessage> decode_seat_message(gossip::MessageType type, gossip::Reader body);

/// A leader that sends its log to a host without a seat counts it among its learners. Of term 0 is
/// a voter's question, which goes to hosts that are none of its quorum, too.
bool is_invitation(const RaftMessage& message);

/// Whether it speaks from the seat that votes. A host on a new disk still speaks of Raft, and helps
/// nobody to a majority.
bool is_from_seat(const RaftMessage& message, SeatId voter);

}  // namespace muster::scheduler
