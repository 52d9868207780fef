#pragma once
// The table of messages: for each type its name, the part of the product that owns it, and whether
// any member may send it or the quorum alone. All code that judges, drops or reads messages goes by
// these rows. A type without a row does not compile.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gossip/base/enum_table.h"
#include "gossip/wire/message.h"

namespace muster::gossip {

/// The part of the product that alone encodes and decodes the bodies.
enum class Owner : std::uint8_t {
  kMembership,
  kRows,
  kRaft,
  kFirstQuorum,
  kLeader,   ///< To the agents of hosts.
  kAgents,   ///< To the leader.
  kClients,  ///< Requests and responses.
  kUsers,    ///< Copies of the list of users, and refusals of users for the audit.
};

enum class Speaker : std::uint8_t {
  kMembers,     ///< Any member of the cluster.
  kQuorumOnly,  ///< Hosts that may vote: voters, leaders, founders.
};

struct MessageRow {
  MessageType type{};
  std::string_view name;
  Owner owner{};
  Speaker speaker{};
};

inline constexpr MessageRow kMessageTable[] = {
    {MessageType::kProbe, "probe", Owner::kMembership, Speaker::kMembers},
    {MessageType::kAck, "ack", Owner::kMembership, Speaker::kMembers},
    {MessageType::kCall, "call", Owner::kMembership, Speaker::kMembers},
    {MessageType::kVeto, "veto", Owner::kMembership, Speaker::kMembers},
    {MessageType::kAccuse, "accuse", Owner::kMembership, Speaker::kMembers},
    {MessageType::kRows, "rows", Owner::kRows, Speaker::kMembers},
    {MessageType::kVoteRequest, "vote_request", Owner::kRaft, Speaker::kQuorumOnly},
    {MessageType::kVoteReply, "vote_reply", Owner::kRaft, Speaker::kQuorumOnly},
    {MessageType::kAppendRequest, "append_request", Owner::kRaft, Speaker::kQuorumOnly},
    {MessageType::kAppendReply, "append_reply", Owner::kRaft, Speaker::kQuorumOnly},
    {MessageType::kSnapshotChunk, "snapshot_chunk", Owner::kRaft, Speaker::kQuorumOnly},
    {MessageType::kSnapshotAck, "snapshot_ack", Owner::kRaft, Speaker::kQuorumOnly},
    {MessageType::kTimeoutNow, "timeout_now", Owner::kRaft, Speaker::kQuorumOnly},
    {MessageType::kPropose, "propose", Owner::kFirstQuorum, Speaker::kQuorumOnly},
    {MessageType::kPromise, "promise", Owner::kFirstQuorum, Speaker::kQuorumOnly},
    {MessageType::kForm, "form", Owner::kFirstQuorum, Speaker::kQuorumOnly},
    {MessageType::kHello, "hello", Owner::kAgents, Speaker::kMembers},
    {MessageType::kHelloReply, "hello_reply", Owner::kLeader, Speaker::kQuorumOnly},
    {MessageType::kAssign, "assign", Owner::kLeader, Speaker::kQuorumOnly},
    {MessageType::kReady, "ready", Owner::kAgents, Speaker::kMembers},
    {MessageType::kRefuse, "refuse", Owner::kAgents, Speaker::kMembers},
    {MessageType::kStart, "start", Owner::kLeader, Speaker::kQuorumOnly},
    {MessageType::kStop, "stop", Owner::kLeader, Speaker::kQuorumOnly},
    {MessageType::kFinish, "finish", Owner::kAgents, Speaker::kMembers},
    {MessageType::kFinishAck, "finish_ack", Owner::kLeader, Speaker::kQuorumOnly},
    {MessageType::kRenew, "renew", Owner::kAgents, Speaker::kMembers},
    // A relay passes it on; its proof shows that the leader made it.
    {MessageType::kRenewAck, "renew_ack", Owner::kLeader, Speaker::kMembers},
    {MessageType::kRelayedRenews, "relayed_renews", Owner::kAgents, Speaker::kMembers},
    {MessageType::kRelayedAcks, "relayed_acks", Owner::kLeader, Speaker::kQuorumOnly},
    {MessageType::kGpuOrders, "gpu_orders", Owner::kLeader, Speaker::kQuorumOnly},
    {MessageType::kGpuOrdersAck, "gpu_orders_ack", Owner::kAgents, Speaker::kMembers},
    {MessageType::kRequest, "request", Owner::kClients, Speaker::kMembers},
    {MessageType::kResponse, "response", Owner::kClients, Speaker::kMembers},
    {MessageType::kUsersAsk, "users_ask", Owner::kUsers, Speaker::kMembers},
    {MessageType::kUsersPage, "users_page", Owner::kUsers, Speaker::kQuorumOnly},
    {MessageType::kNotes, "notes", Owner::kUsers, Speaker::kMembers},
    {MessageType::kNotesTaken, "notes_taken", Owner::kUsers, Speaker::kQuorumOnly},
};

/// Null if there is no such type: bytes of others may hold any number.
constexpr const MessageRow* find_message(MessageType type) {
  return find_row(kMessageTable, &MessageRow::type, type);
}
constexpr bool is_of(Owner owner, MessageType type) {
  return has_row_with(kMessageTable, &MessageRow::type, type, &MessageRow::owner, owner);
}
constexpr bool is_said_by_quorum(MessageType type) {
  return has_row_with(kMessageTable, &MessageRow::type, type, &MessageRow::speaker,
                      Speaker::kQuorumOnly);
}

/// The function by which an owner reads one of its bodies.
template <class Body>
struct BodyReader {
  MessageType type{};
  Body (*read)(Reader& in) = nullptr;
};
template <class Body, auto kRead>
Body read_as(Reader& in) {
  return Body(kRead(in));
}
/// Whether the readers cover all messages of these owners and no others.
template <Owner... kOwners, class Body, std::size_t kSize>
consteval bool reads_all_of(const BodyReader<Body> (&readers)[kSize]) {
  return has_row_for_those(readers, &BodyReader<Body>::type,
                           [](MessageType type) { return (is_of(kOwners, type) || ...); });
}
/// nullopt if no reader has this type, or the body is malformed.
template <class Body, std::size_t kSize>
std::optional<Body> read_body(const BodyReader<Body> (&readers)[kSize], MessageType type,
                              Reader in) {
  const BodyReader<Body>* reader = find_row(readers, &BodyReader<Body>::type, type);
  if (reader == nullptr) {
    return std::nullopt;
  }
  std::optional<Body> body = reader->read(in);
  return in.ok() ? std::move(body) : std::nullopt;
}

}  // namespace muster::gossip
