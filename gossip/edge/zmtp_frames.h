#pragma once
// ZmtpFrames walks over the bytes of one direction of a ZeroMQ connection (ZMTP 3.1, ZeroMQ RFC
// 37) and finds where frames begin, so that they can be held back one by one. It understands no
// frame. Pure but for its room.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace muster::gossip {

class ZmtpFrames {
 public:
  /// Frames of more than `frame_bytes_max` are an error.
  explicit ZmtpFrames(std::size_t frame_bytes_max);

  /// Number of bytes at the begin of `bytes`, the next ones of the stream, that may pass: all of
  /// them, or those in front of the first frame that `may_begin` says no to. The caller shows the
  /// rest again. The greeting and the first frame, the end of the handshake, pass without a
  /// question. nullopt if a frame is too large, or the greeting is not that of ZMTP 3: frames of
  /// older versions would be found elsewhere. The stream is of no use then.
  std::optional<std::size_t> pass(std::string_view bytes, const std::function<bool()>& may_begin);

 private:
  bool take_header(std::uint8_t byte);

  const std::size_t frame_bytes_max_;
  std::uint64_t greeting_bytes_ = 0;
  std::uint64_t body_left_ = 0;  ///< Of the frame that is under way.
  std::uint64_t size_ = 0;       ///< As far as the header tells it.
  std::size_t header_left_ = 0;  ///< Bytes of the size that are still to come.
  bool is_handshake_over_ = false;
};

}  // namespace muster::gossip
