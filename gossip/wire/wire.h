#pragma once
// Encoder, Reader and Document write and read the bytes of wire and disk, over msgpack-cxx. All
// codecs use these three classes; only gossip/wire/wire.cc includes msgpack.
//
// A message is a positional array with append-only trailing elements. A gossiped or persisted
// record is a map with small integer keys; readers keep unknown keys.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::gossip {

/// Limits of a document. msgpack allocates an array at its claimed size x 24 bytes before it reads
/// the elements, hence the element limit. The depth limit bounds recursion.
inline constexpr std::size_t kMessageBytesMax = 1 << 20;
inline constexpr std::size_t kElementsMax = 8192;
inline constexpr std::size_t kDepthMax = 16;

/// Appends msgpack to a string. The caller keeps the counts: three values must follow array(3).
class Encoder {
 public:
  Encoder& array(std::size_t count);
  Encoder& map(std::size_t count);
  Encoder& u64(std::uint64_t value);
  Encoder& i64(std::int64_t value);
  Encoder& boolean(bool value);
  Encoder& text(std::string_view value);
  Encoder& bytes(std::string_view value);
  /// Appends one or several whole values that are msgpack already.
  Encoder& raw(std::string_view encoded);

  template <class Tag>
  Encoder& id(const Id128<Tag>& value) {
    return bytes(value.bytes());
  }
  template <class Tag>
  Encoder& num(Strong<Tag> value) {
    return u64(value.value());
  }
  Encoder& token(const Token& value) { return u64(value.epoch).u64(value.index); }
  /// Nanoseconds.
  Encoder& duration(Duration value) { return i64(value.count()); }

  const std::string& buffer() const { return buffer_; }
  std::string take() { return std::move(buffer_); }

 private:
  std::string buffer_;
};

/// Reads the elements of one array or map in order. At the first wrong type or missing element the
/// reader, and every reader of the same root(), fails for good. A failed reader yields zero values.
/// Therefore a codec reads all fields straight down and asks ok() once, at the end. The document
/// must outlive its readers.
class Reader {
 public:
  std::uint64_t u64();
  /// Fails above `max`: checks the range of an enumeration or a count.
  std::uint64_t u64_at_most(std::uint64_t max);
  std::int64_t i64();
  bool boolean();
  /// A view into the document, valid as long as the document. Both accept str and bin.
  std::string_view bytes();
  std::string text(std::size_t bytes_max = 4096);
  /// A reader of the next element; a failed reader if that is not an array (not a map, for map()).
  Reader array();
  /// An array of at most `count_max` elements; a longer one fails the whole document.
  Reader array_at_most(std::size_t count_max);
  Reader map();
  /// Re-encodes the next element, of any type, so that unknown fields survive.
  std::string raw();
  /// Re-encodes all elements that are left, concatenated.
  std::string rest();

  template <class IdType>
  IdType id() {
    const std::string_view value = bytes();
    if (value.size() != IdType::kSizeBytes) {
      fail();
    }
    return IdType::from_bytes(value);
  }
  template <class StrongType>
  StrongType num() {
    return StrongType(u64());
  }
  Token token() {
    const std::uint64_t epoch = u64();
    return {epoch, u64()};
  }
  Duration duration() { return Duration(i64()); }

  /// Number of elements (array) or pairs (map): all of them, and those left unread.
  std::size_t size() const { return size_; }
  std::size_t left() const { return size_ - next_; }
  bool ok() const { return state_ != nullptr && !state_->failed; }
  void fail();

 private:
  friend class Document;
  struct State {
    bool failed = false;
  };
  const void* take();
  Reader child(bool want_map);

  State* state_ = nullptr;  ///< Owned by the document; shared by all readers of one root().
  const void* elements_ = nullptr;
  std::size_t size_ = 0;
  std::size_t next_ = 0;
  bool is_map_ = false;
  bool value_is_next_ = false;  ///< Maps are read key, value, key, value.
};

/// One msgpack value, unpacked under the limits above. Owns its bytes.
class Document {
 public:
  /// kInvalid if the input is truncated, oversized or too deep, has a tail, or its root is neither
  /// an array nor a map. Never throws.
  static Result<Document> parse(std::string bytes);
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();
  /// A new reader over the root's elements.
  Reader root() const;

 private:
  struct Impl;
  explicit Document(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::gossip
