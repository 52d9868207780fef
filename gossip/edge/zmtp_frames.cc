#include "gossip/edge/zmtp_frames.h"

#include <algorithm>

namespace muster::gossip {
namespace {

constexpr std::uint64_t kZmtpGreetingBytes = 64;
/// Bytes of the greeting that older versions of the protocol have otherwise: their frames begin
/// elsewhere, and libzmq would speak them.
constexpr std::uint64_t kSignatureBegin = 0;
constexpr std::uint64_t kSignatureEnd = 9;
constexpr std::uint64_t kMajorPlace = 10;
constexpr std::uint8_t kSignatureFirst = 0xff;
constexpr std::uint8_t kSignatureLast = 0x7f;
constexpr std::uint8_t kMajorVersion = 3;
/// In the first byte of a frame: the size has eight bytes instead of one.
constexpr std::uint8_t kLongFlag = 0x02;
constexpr std::size_t kShortSizeBytes = 1;
constexpr std::size_t kLongSizeBytes = 8;
constexpr unsigned kByteBits = 8;

bool may_be_in_greeting(std::uint64_t place, std::uint8_t byte) {
  return place == kSignatureBegin ? byte == kSignatureFirst
         : place == kSignatureEnd ? byte == kSignatureLast
                                  : place != kMajorPlace || byte == kMajorVersion;
}

}  // namespace

ZmtpFrames::ZmtpFrames(std::size_t frame_bytes_max) : frame_bytes_max_(frame_bytes_max) {}

/// False if the header is whole and its frame too large.
bool ZmtpFrames::take_header(std::uint8_t byte) {
  size_ = size_ << kByteBits | byte;
  if (--header_left_ == 0) {
    body_left_ = size_;
    return size_ <= frame_bytes_max_;
  }
  return true;
}

std::optional<std::size_t> ZmtpFrames::pass(std::string_view bytes,
                                            const std::function<bool()>& may_begin) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (greeting_bytes_ < kZmtpGreetingBytes) {
      if (!may_be_in_greeting(greeting_bytes_, static_cast<std::uint8_t>(bytes[at]))) {
        return std::nullopt;
      }
      ++greeting_bytes_;
      ++at;
      continue;
    }
    if (body_left_ > 0) {
      const std::uint64_t part = std::min<std::uint64_t>(body_left_, bytes.size() - at);
      body_left_ -= part;
      at += part;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(bytes[at]);
    if (header_left_ > 0) {
      if (!take_header(byte)) {
        return std::nullopt;
      }
    } else {
      if (is_handshake_over_ && !may_begin()) {
        return at;
      }
      is_handshake_over_ = true;
      size_ = 0;
      header_left_ = (byte & kLongFlag) != 0 ? kLongSizeBytes : kShortSizeBytes;
    }
    ++at;
  }
  return at;
}

}  // namespace muster::gossip
