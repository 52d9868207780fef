#include "gossip/wire/wire.h"

#include <utility>

#include <msgpack.hpp>

namespace muster::gossip {
namespace {

/// Lets msgpack's packer write to a std::string.
struct StringSink {
  std::string* out;
  void write(const char* data, std::size_t size) { out->append(data, size); }
};

using Packer = msgpack::packer<StringSink>;

/// Most messages are one probe or one field of one row: one allocation holds one, packed or not.
constexpr std::size_t kUsualBytes = 128;
constexpr std::size_t kUsualZoneBytes = 896;

const msgpack::object& object_at(const void* element) {
  return *static_cast<const msgpack::object*>(element);
}

std::uint32_t narrow(std::size_t count) {
  CHECK(count <= 0xffffffffU);
  return static_cast<std::uint32_t>(count);
}

/// The shortest forms, which most values take: Encoder writes them in place, one byte each.
constexpr std::uint64_t kFixintMax = 0x7f;
constexpr std::size_t kFixarrayMax = 15;
constexpr unsigned char kFixarray = 0x90;

bool by_reference(msgpack::type::object_type, std::size_t, void*) {
  return true;
}

}  // namespace

Encoder& Encoder::array(std::size_t count) {
  if (buffer_.capacity() < kUsualBytes) {
    buffer_.reserve(kUsualBytes);
  }
  if (count <= kFixarrayMax) {
    buffer_.push_back(static_cast<char>(kFixarray | count));
    return *this;
  }
  StringSink sink{&buffer_};
  Packer(sink).pack_array(narrow(count));
  return *this;
}

Encoder& Encoder::map(std::size_t count) {
  StringSink sink{&buffer_};
  Packer(sink).pack_map(narrow(count));
  return *this;
}

Encoder& Encoder::u64(std::uint64_t value) {
  if (value <= kFixintMax) {
    buffer_.push_back(static_cast<char>(value));
    return *this;
  }
  StringSink sink{&buffer_};
  Packer(sink).pack_uint64(value);
  return *this;
}

Encoder& Encoder::i64(std::int64_t value) {
  StringSink sink{&buffer_};
  Packer(sink).pack_int64(value);
  return *this;
}

Encoder& Encoder::boolean(bool value) {
  StringSink sink{&buffer_};
  Packer packer(sink);
  if (value) {
    packer.pack_true();
  } else {
    packer.pack_false();
  }
  return *this;
}

Encoder& Encoder::text(std::string_view value) {
  StringSink sink{&buffer_};
  Packer packer(sink);
  packer.pack_str(narrow(value.size()));
  packer.pack_str_body(value.data(), narrow(value.size()));
  return *this;
}

Encoder& Encoder::bytes(std::string_view value) {
  StringSink sink{&buffer_};
  Packer packer(sink);
  packer.pack_bin(narrow(value.size()));
  packer.pack_bin_body(value.data(), narrow(value.size()));
  return *this;
}

Encoder& Encoder::raw(std::string_view encoded) {
  buffer_.append(encoded);
  return *this;
}

void Reader::fail() {
  if (state_ != nullptr) {
    state_->failed = true;
  }
}

const void* Reader::take() {
  if (!ok() || next_ >= size_) {
    fail();
    return nullptr;
  }
  if (!is_map_) {
    return static_cast<const msgpack::object*>(elements_) + next_++;
  }
  const auto* pair = static_cast<const msgpack::object_kv*>(elements_) + next_;
  if (!value_is_next_) {
    value_is_next_ = true;
    return &pair->key;
  }
  value_is_next_ = false;
  ++next_;
  return &pair->val;
}

std::uint64_t Reader::u64() {
  const void* element = take();
  if (element == nullptr || object_at(element).type != msgpack::type::POSITIVE_INTEGER) {
    fail();
    return 0;
  }
  return object_at(element).via.u64;
}

std::uint64_t Reader::u64_at_most(std::uint64_t max) {
  const std::uint64_t value = u64();
  if (value > max) {
    fail();
    return 0;
  }
  return value;
}

std::int64_t Reader::i64() {
  const void* element = take();
  if (element != nullptr) {
    const msgpack::object& object = object_at(element);
    if (object.type == msgpack::type::NEGATIVE_INTEGER) {
      return object.via.i64;
    }
    if (object.type == msgpack::type::POSITIVE_INTEGER &&
        object.via.u64 <= static_cast<std::uint64_t>(INT64_MAX)) {
      return static_cast<std::int64_t>(object.via.u64);
    }
  }
  fail();
  return 0;
}

bool Reader::boolean() {
  const void* element = take();
  if (element == nullptr || object_at(element).type != msgpack::type::BOOLEAN) {
    fail();
    return false;
  }
  return object_at(element).via.boolean;
}

std::string_view Reader::bytes() {
  const void* element = take();
  if (element != nullptr) {
    const msgpack::object& object = object_at(element);
    if (object.type == msgpack::type::BIN) {
      return {object.via.bin.ptr, object.via.bin.size};
    }
    if (object.type == msgpack::type::STR) {
      return {object.via.str.ptr, object.via.str.size};
    }
  }
  fail();
  return {};
}

std::string Reader::text(std::size_t bytes_max) {
  const std::string_view value = bytes();
  if (value.size() > bytes_max) {
    fail();
    return {};
  }
  return std::string(value);
}

Reader Reader::child(bool want_map) {
  Reader reader;
  const void* element = take();
  reader.state_ = state_;
  if (element == nullptr) {
    return reader;
  }
  const msgpack::object& object = object_at(element);
  if (want_map && object.type == msgpack::type::MAP) {
    reader.elements_ = object.via.map.ptr;
    reader.size_ = object.via.map.size;
    reader.is_map_ = true;
  } else if (!want_map && object.type == msgpack::type::ARRAY) {
    reader.elements_ = object.via.array.ptr;
    reader.size_ = object.via.array.size;
  } else {
    fail();
  }
  return reader;
}

Reader Reader::array() {
  return child(false);
}
Reader Reader::array_at_most(std::size_t count_max) {
  Reader list = array();
  if (list.size() > count_max) {
    list.fail();
  }
  return list;
}
Reader Reader::map() {
  return child(true);
}

std::string Reader::raw() {
  std::string out;
  const void* element = take();
  if (element != nullptr) {
    StringSink sink{&out};
    Packer(sink).pack(object_at(element));
  }
  return out;
}

std::string Reader::rest() {
  std::string out;
  while (ok() && (left() > 0)) {
    out += raw();
  }
  return out;
}

struct Document::Impl {
  std::string bytes;
  // Smaller than msgpack's default of 8 KiB, for which the allocator takes its slow path.
  msgpack::zone zone{kUsualZoneBytes};
  msgpack::object root;
};

Document::Document(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Result<Document> Document::parse(std::string bytes) {
  if (bytes.size() > kMessageBytesMax) {
    return Error{ErrorCode::kInvalid, "message too large"};
  }
  if (bytes.empty()) {  // Such as a field that a row lacks yet: too common for an exception.
    return Error{ErrorCode::kInvalid, "no bytes"};
  }
  auto impl = std::make_unique<Impl>();
  impl->bytes = std::move(bytes);
  const msgpack::unpack_limit limit(kElementsMax, kElementsMax, kMessageBytesMax, kMessageBytesMax,
                                    kMessageBytesMax, kDepthMax);
  try {
    std::size_t offset = 0;
    impl->root = msgpack::unpack(impl->zone, impl->bytes.data(), impl->bytes.size(), offset,
                                 by_reference, nullptr, limit);
    if (offset != impl->bytes.size()) {
      return Error{ErrorCode::kInvalid, "trailing bytes"};
    }
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInvalid, error.what()};
  }
  const msgpack::object& root = impl->root;
  if (root.type != msgpack::type::ARRAY && root.type != msgpack::type::MAP) {
    return Error{ErrorCode::kInvalid, "neither array nor map"};
  }
  return Document(std::move(impl));
}

Reader Document::root() const {
  Reader reader;
  void* place = impl_->zone.allocate_align(sizeof(Reader::State), alignof(Reader::State));
  reader.state_ = new (place) Reader::State();
  const msgpack::object& root = impl_->root;
  reader.is_map_ = root.type == msgpack::type::MAP;
  if (reader.is_map_) {
    reader.elements_ = root.via.map.ptr;
    reader.size_ = root.via.map.size;
  } else {
    reader.elements_ = root.via.array.ptr;
    reader.size_ = root.via.array.size;
  }
  return reader;
}

}  // namespace muster::gossip
