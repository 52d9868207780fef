#include "scheduler/seat/seat_messages.h"

#include <utility>

#include "gossip/wire/message_table.h"
#include "scheduler/raft/codec.h"

namespace muster::scheduler {

std::optional<SeatMessage> decode_seat_message(gossip::MessageType type, gossip::Reader body) {
  if (gossip::is_of(gossip::Owner::kFirstQuorum, type)) {
    return decode_quorum_message(type, std::move(body));
  }
  return decode_raft_message(type, std::move(body));
}

bool is_invitation(const RaftMessage& message) {
  const auto* append = std::get_if<AppendRequest>(&message);
  return (append != nullptr && append->term > Term()) ||
         std::holds_alternative<SnapshotChunk>(message);
}

bool is_from_seat(const RaftMessage& message, SeatId voter) {
  if (const auto* vote = std::get_if<VoteReply>(&message)) {
    return vote->seat == voter;
  }
  if (const auto* reply = std::get_if<AppendReply>(&message)) {
    return reply->seat == voter;
  }
  if (const auto* ack = std::get_if<SnapshotAck>(&message)) {
    return ack->seat == voter;
  }
  const auto* append = std::get_if<AppendRequest>(&message);
  return append == nullptr || append->term > Term() || SeatId(append->round) == voter;
}

}  // namespace muster::scheduler
