#include "gossip/wire/message.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "gossip/base/generation.h"
#include "gossip/wire/message_table.h"

namespace muster::gossip {
namespace {

constexpr std::size_t kEnvelopeElements = 7;

static_assert(has_row_for_each(kMessageTable, &MessageRow::type), "each type has one row");

/// The first bytes of a message, read as far as the envelope's head goes (the msgpack
/// specification's formats of arrays, unsigned integers and binaries).
class Head {
 public:
  explicit Head(std::string_view bytes) : left_(bytes) {}

  bool array(std::size_t at_least) {
    const unsigned mark = take();
    const std::uint64_t size = mark >= 0x90 && mark <= 0x9f ? mark & 0x0fU
                               : mark == 0xdc               ? big_endian(2)
                               : mark == 0xdd               ? big_endian(4)
                                                            : 0;
    return size >= at_least;
  }
  bool u64_at_most(std::uint64_t most) {
    const unsigned mark = take();
    if (mark < 0x80) {
      return true;
    }
    // Signed formats may hold a number that is not negative.
    return mark >= 0xcc && mark <= 0xd3 && big_endian(std::size_t{1} << (mark % 4)) <= most;
  }
  /// The next number if it is below 128; else a mark that is no type of ours.
  unsigned small() { return take(); }
  bool id() {
    const std::optional<std::size_t> size = binary_size(take());
    const bool is_id = (size == 0 || size == HostId::kSizeBytes) && left_.size() >= *size;
    left_.remove_prefix(is_id ? *size : 0);
    return is_id;
  }

 private:
  /// Accepts the formats of strings, too.
  std::optional<std::size_t> binary_size(unsigned mark) {
    if (mark >= 0xc4 && mark <= 0xc6) {
      return big_endian(std::size_t{1} << (mark - 0xc4));
    }
    if (mark >= 0xd9 && mark <= 0xdb) {
      return big_endian(std::size_t{1} << (mark - 0xd9));
    }
    return mark >= 0xa0 && mark <= 0xbf ? std::optional<std::size_t>(mark & 0x1fU) : std::nullopt;
  }
  unsigned take() { return static_cast<unsigned>(big_endian(1)); }
  /// 0 if fewer bytes are left.
  std::uint64_t big_endian(std::size_t bytes) {
    if (left_.size() < bytes) {
      left_ = {};
      return 0;
    }
    std::uint64_t value = 0;
    for (const char byte : left_.substr(0, bytes)) {
      value = value << 8U | static_cast<unsigned char>(byte);
    }
    left_.remove_prefix(bytes);
    return value;
  }

  std::string_view left_;
};

template <class IdType>
IdType read_id(Reader& in) {
  const std::string_view bytes = in.bytes();
  if (!bytes.empty() && bytes.size() != IdType::kSizeBytes) {
    in.fail();
  }
  return bytes.empty() ? IdType() : IdType::from_bytes(bytes);
}

}  // namespace

bool begins_as_message(std::string_view bytes) {
  Head head(bytes);
  return head.array(kEnvelopeElements) && head.u64_at_most(UINT32_MAX) &&
         head.u64_at_most(UINT8_MAX) && head.id() && head.id() &&
         head.u64_at_most(kGenerationMax) && head.u64_at_most(UINT64_MAX);
}

MessageType type_in(std::string_view bytes) {
  Head head(bytes);
  const bool has_type = head.array(kEnvelopeElements) && head.u64_at_most(UINT32_MAX);
  return static_cast<MessageType>(has_type ? head.small() : 0);
}

std::string_view name_of(MessageType type) {
  const MessageRow* row = find_message(type);
  return row == nullptr ? std::string_view() : row->name;
}

bool is_vital(std::string_view bytes) {
  const MessageType type = type_in(bytes);
  return is_of(Owner::kMembership, type) || is_of(Owner::kRaft, type);
}

std::string encode(const Envelope& envelope, std::string_view body) {
  Encoder out;
  out.array(kEnvelopeElements + envelope.trailing_count)
      .u64(envelope.version)
      .u64(static_cast<std::uint64_t>(envelope.type))
      .bytes(envelope.cluster.is_zero() ? std::string_view() : envelope.cluster.bytes())
      .bytes(envelope.from.is_zero() ? std::string_view() : envelope.from.bytes())
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
  envelope.cluster = read_id<ClusterId>(reader);
  envelope.from = read_id<HostId>(reader);
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
  // `trailing` has no array header of its own: prepend one to read it.
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
