#include "gossip/wire/message.h"

#include "gossip/base/generation.h"

namespace muster::gossip {
namespace {

constexpr std::size_t kEnvelopeElements = 7;

}  // namespace

std::string encode(const Envelope& envelope, std::string_view body) {
  Encoder out;
  out.array(kEnvelopeElements + envelope.trailing_count)
      .u64(envelope.version)
      .u64(static_cast<std::uint64_t>(envelope.type))
      .id(envelope.cluster)
      .id(envelope.from)
      .num(envelope.generation)
      .num(envelope.nonce)
      .raw(body)
      .raw(envelope.trailing);
  return out.take();
}

Result<Message> decode(std::string bytes) {
  Result<Document> document = Document::parse(std::move(bytes));
  if (!document) {
    return document.error();
  }
  Reader reader = document->root();
  if (reader.size() < kEnvelopeElements) {
    return Error{ErrorCode::kInvalid, "envelope too short"};
  }
  Envelope envelope;
  envelope.version = static_cast<std::uint32_t>(reader.u64_at_most(UINT32_MAX));
  envelope.type = static_cast<MessageType>(reader.u64_at_most(UINT8_MAX));
  envelope.cluster = reader.id<ClusterId>();
  envelope.from = reader.id<HostId>();
  envelope.generation = Generation(reader.u64_at_most(kGenerationMax));
  envelope.nonce = reader.num<Nonce>();
  reader.array();
  envelope.trailing_count = reader.left();
  envelope.trailing = reader.rest();
  if (!reader.ok()) {
    return Error{ErrorCode::kInvalid, "malformed envelope"};
  }
  return Message(std::move(envelope), std::move(document).value());
}

void set_epoch(Envelope& envelope, const ClusterEpoch& epoch) {
  if (!epoch.is_first()) {
    envelope.trailing = Encoder().array(2).u64(epoch.counter).u64(epoch.lineage).take();
    envelope.trailing_count = 1;
  }
}

ClusterEpoch epoch_of(const Envelope& envelope) {
  if (envelope.trailing_count == 0) {
    return {};
  }
  // Readable as an array of what trails: its header is not part of `trailing`.
  Encoder list;
  list.array(envelope.trailing_count).raw(envelope.trailing);
  const Result<Document> document = Document::parse(list.take());
  if (!document) {
    return {};
  }
  Reader first = document->root().array();
  ClusterEpoch epoch;
  epoch.counter = first.u64_at_most(kEpochCounterMax);
  epoch.lineage = first.u64();
  return first.ok() && epoch.counter > 0 ? epoch : ClusterEpoch();
}

Reader Message::body() const {
  Reader reader = document_.root();
  reader.u64();
  reader.u64();
  reader.bytes();
  reader.bytes();
  reader.u64();
  reader.u64();
  return reader.array();
}

}  // namespace muster::gossip
