#pragma once
// Envelope is the frame of every message; MessageType lists the messages. Each folder encodes the
// bodies of its own messages in its codec.cc, as one positional array.
//
// envelope = [protocol version, type, cluster id, host id, generation, nonce, body, ...trailing]
// A zero id is written as no bytes: between members the connection proves both ids (complete()),
// and writing them took a fifth of an idle cluster's traffic. decode() keeps trailing elements of a
// newer version, and they travel on with a forwarded message.

#include <cstdint>
#include <string>
#include <string_view>

#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {

/// The numbers stand on the wire: never reused, never retyped. Each block names the folder that
/// owns its bodies.
enum class MessageType : std::uint8_t {
  // membership
  kProbe = 1,
  kAck = 2,
  kCall = 3,
  kVeto = 4,
  kAccuse = 5,
  // crdt
  kRows = 10,
  // scheduler: raft, first quorum
  kVoteRequest = 20,
  kVoteReply = 21,
  kAppendRequest = 22,
  kAppendReply = 23,
  // 24 and 25 were a snapshot in one message.
  kSnapshotChunk = 26,
  kSnapshotAck = 27,
  kTimeoutNow = 28,
  kPropose = 30,
  kPromise = 31,
  kForm = 32,
  // agent and quorum
  kHello = 40,
  kHelloReply = 41,
  kAssign = 42,
  kReady = 43,
  kRefuse = 44,
  kStart = 45,
  kStop = 46,
  kFinish = 47,
  kFinishAck = 48,
  kRenew = 49,
  kRenewAck = 50,
  kRelayedRenews = 51,
  kRelayedAcks = 52,
  kGpuOrders = 53,
  kGpuOrdersAck = 54,
  // client
  kRequest = 60,
  kResponse = 61,
  // users
  kUsersAsk = 70,
  kUsersPage = 71,
  kNotes = 72,       // Refused requests of users, to the leader.
  kNotesTaken = 73,  // The log has the batch.
};

struct Envelope {
  std::uint32_t version = 0;
  MessageType type{};
  ClusterId cluster;
  HostId from;
  Generation generation;
  Nonce nonce;
  std::string trailing;  ///< msgpack of the elements behind the body.
  std::size_t trailing_count = 0;
  bool operator==(const Envelope&) const = default;
};

/// No cluster has an epoch counter above this.
inline constexpr std::uint64_t kEpochCounterMax = std::uint64_t{1} << 32;

/// Sets the first trailing element, [counter, lineage], of a message between agents. The first
/// epoch is not written, so that its bytes equal those of releases without epochs. Not for requests
/// and responses: the client owns their trailing elements.
void set_epoch(Envelope& envelope, const ClusterEpoch& epoch);
/// The epoch that the envelope names; the first epoch if it names none or an unreadable one.
ClusterEpoch epoch_of(const Envelope& envelope);

/// A decoded message: the envelope and, behind body(), the elements of the body.
class Message {
 public:
  Message(Envelope envelope, Document document)
      : envelope_(std::move(envelope)), document_(std::move(document)) {}
  const Envelope& envelope() const { return envelope_; }
  /// Sets the sender that the connection proves, if the envelope names no host.
  void complete(HostId from) { envelope_.from = envelope_.from.is_zero() ? from : envelope_.from; }
  /// A new reader over the body's elements.
  Reader body() const;

 private:
  Envelope envelope_;
  Document document_;
};

/// Encodes a message. `body` is one encoded array.
std::string encode(const Envelope& envelope, std::string_view body);

/// Whether `bytes` begin as an envelope does. False if decode() would refuse them for their head
/// alone; the rest is not read and may be wrong.
bool begins_as_message(std::string_view bytes);

/// The type that the head names; a value that no MessageType has if the head names none.
MessageType type_in(std::string_view bytes);
/// "probe", "rows", "append_request"; "" if the type is unknown.
std::string_view name_of(MessageType type);

/// Whether the head names a message of membership or of raft. Other messages do not delay these: a
/// host that answers them late is taken for dead.
bool is_vital(std::string_view bytes);

/// Decodes bytes of others; there is no other way in. Never throws. kInvalid says why the bytes are
/// no message. An unknown type or version decodes: the receiver decides about it.
Result<Message> decode(std::string bytes);

}  // namespace muster::gossip
