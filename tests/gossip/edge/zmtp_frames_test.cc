// Frames are found wherever the stream is cut, and each is held back until it may begin.

#include "gossip/edge/zmtp_frames.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace muster::gossip {
namespace {

constexpr std::size_t kLargest = 4096;

std::string small_frame(std::size_t size, char flags = 0) {
  return std::string(1, flags) + static_cast<char>(size) + std::string(size, '\x02');
}

std::string long_frame(std::uint64_t size, std::size_t body) {
  std::string bytes(1, '\x02');
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(size >> shift & 0xff);
  }
  return bytes + std::string(body, '\xff');
}

std::string handshake() {
  const std::string signature = '\xff' + std::string(8, '\0') + '\x7f';
  return signature + std::string("\x03\x01", 2) + std::string(52, '\0') + small_frame(30, '\x04');
}

/// Shows the stream in parts of `step` bytes; a frame may begin while `may` is positive. The bytes
/// that passed.
std::optional<std::size_t> passed(ZmtpFrames& frames, std::string_view stream, std::size_t step,
                                  int& may) {
  std::size_t at = 0;
  while (at < stream.size()) {
    const auto part = frames.pass(stream.substr(at, step), [&] { return may > 0 && may-- > 0; });
    if (!part.has_value() || *part == 0) {
      return part.has_value() ? std::optional(at) : std::nullopt;
    }
    at += *part;
  }
  return at;
}

TEST(ZmtpFrames, TheHandshakePassesAndEachFrameAsks) {
  ZmtpFrames frames(kLargest);
  const std::string stream = handshake() + small_frame(5) + small_frame(0) + small_frame(200);
  int may = 2;
  EXPECT_EQ(passed(frames, stream, stream.size(), may), handshake().size() + 7 + 2);
  EXPECT_EQ(may, 0);
  may = 1;
  EXPECT_EQ(passed(frames, small_frame(200), 1000, may), 202U) << "the rest is shown again";
}

TEST(ZmtpFrames, AFrameOfTooManyBytesIsOfNoUse) {
  for (const std::uint64_t size : {kLargest + 1, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    ZmtpFrames frames(kLargest);
    int may = 9;
    EXPECT_EQ(passed(frames, handshake() + long_frame(size, 10), 7, may), std::nullopt);
  }
  ZmtpFrames frames(kLargest);
  int may = 9;
  EXPECT_TRUE(passed(frames, handshake() + long_frame(kLargest, kLargest), 7, may).has_value());
}

TEST(ZmtpFrames, AnOlderProtocolIsOfNoUse) {
  const auto greets = [](std::size_t at, char byte) {
    ZmtpFrames frames(kLargest);
    std::string stream = handshake();
    stream[at] = byte;
    int may = 9;
    return passed(frames, stream, 3, may).has_value();
  };
  EXPECT_TRUE(greets(11, '\0')) << "the minor version";
  EXPECT_FALSE(greets(0, '\x01')) << "version 1: the size of an identity";
  EXPECT_FALSE(greets(9, '\0'));
  for (const char version : {'\0', '\1', '\2'}) {
    EXPECT_FALSE(greets(10, version));
  }
}

RC_GTEST_PROP(ZmtpFrames, HoweverTheStreamIsCutAsManyFramesAsk, ()) {
  std::string stream = handshake();
  const auto sizes = *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::inRange(0, 255));
  for (const std::uint8_t size : sizes) {
    stream += size % 3 == 0 ? long_frame(size * 16U, size * 16U) : small_frame(size);
  }
  int may = static_cast<int>(sizes.size());
  ZmtpFrames frames(kLargest);
  RC_ASSERT(passed(frames, stream, *rc::gen::inRange<std::size_t>(1, 400), may) == stream.size());
  RC_ASSERT(may == 0);
}

}  // namespace
}  // namespace muster::gossip
