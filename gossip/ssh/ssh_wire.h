#pragma once
// SshReader and SshWriter read and write the data types of SSH (RFC 4251, section 5): a byte, a
// number of 32 bits in network order, and a string, which is its length as such a number and its
// bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace muster::gossip {

/// Reads bytes of others, in order. It allocates nothing: a string is a view into the bytes, which
/// outlive it. At the first value that is cut off the reader fails for good and yields zero values.
/// Therefore a parser reads all values straight down and asks at_end() once.
class SshReader {
 public:
  explicit SshReader(std::string_view bytes) : left_(bytes) {}

  std::uint8_t byte();
  std::uint32_t u32();
  std::string_view string();
  /// Exactly `count` bytes, without a length before them.
  std::string_view take(std::size_t count);
  /// All bytes that are left; "" of a failed reader.
  std::string_view rest();

  bool ok() const { return ok_; }
  /// Whether all values were there and no byte is left.
  bool at_end() const { return ok_ && left_.empty(); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

/// Appends to a string.
class SshWriter {
 public:
  SshWriter& byte(std::uint8_t value);
  SshWriter& u32(std::uint32_t value);
  /// Precondition: shorter than 4 GiB.
  SshWriter& string(std::string_view value);
  /// The bytes without a length before them.
  SshWriter& raw(std::string_view bytes);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace muster::gossip
