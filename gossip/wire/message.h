#pragma once
// The envelope every message travels in, and the list of message types. Bodies belong to the
// folders: each encodes its own in its codec.cc, as one positional array.
//
// envelope = [protocol version, type, cluster id, host id, generation, nonce, body, ...trailing]
// An id that is zero is written as no bytes: between members the connection proves both
// (complete()), and repeating them cost a fifth of an idle cluster's traffic.
// Trailing elements of a newer version are kept and travel on with a forwarded message.

#include <cstdint>
#include <string>
#include <string_view>

#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {

/// Numbers are the wire's: never reused, never retyped. The folder behind a block owns the bodies.
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
  // 24 and 25 were a snapshot in one message; not used again.
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
  // client
  kRequest = 60,
  kResponse = 61,
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

/// Epochs above this are nobody's.
inline constexpr std::uint64_t kEpochCounterMax = std::uint64_t{1} << 32;

/// The first trailing element, [counter, lineage], of messages between agents; none in the first
/// epoch, so that its bytes are those of releases that knew no other. Not of requests and
/// responses, whose trailing elements are the client's.
void set_epoch(Envelope& envelope, const ClusterEpoch& epoch);
/// The first epoch when the envelope names none, or none that is readable.
ClusterEpoch epoch_of(const Envelope& envelope);

/// A decoded message: the envelope and, behind body(), the elements of the body.
class Message {
 public:
  Message(Envelope envelope, Document document)
      : envelope_(std::move(envelope)), document_(std::move(document)) {}
  const Envelope& envelope() const { return envelope_; }
  /// It names no host: it is of the one that its connection proves.
  void complete(HostId from) { envelope_.from = envelope_.from.is_zero() ? from : envelope_.from; }
  /// A new reader over the body's elements.
  Reader body() const;

 private:
  Envelope envelope_;
  Document document_;
};

/// `body` is one encoded array. envelope.version is written as given.
std::string encode(const Envelope& envelope, std::string_view body);

/// Whether `bytes` begin as an envelope does: what decode() would refuse for its head alone, told
/// without reading the rest. No promise that the rest is well.
bool begins_as_message(std::string_view bytes);

/// The type that the head names; 0 = it names none that fits.
MessageType type_in(std::string_view bytes);
/// "probe", "rows", "append_request"; "" = not known.
std::string_view name_of(MessageType type);

/// Whether the head names a word of membership or of raft. Such words are not kept waiting by
/// others: whoever answers them late is taken for dead.
bool is_vital(std::string_view bytes);

/// The only way in for bytes of others. Never throws; kInvalid says why the bytes are no message.
/// An unknown type or version decodes: what to do with it is the receiver's business.
Result<Message> decode(std::string bytes);

}  // namespace muster::gossip
