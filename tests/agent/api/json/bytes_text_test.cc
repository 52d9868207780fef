// Goal: bytes become the letters that RFC 4648 says. Method: its own examples, and a byte of each
// kind.

#include "agent/api/json/bytes_text.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

TEST(BytesText, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64(std::string("a\xff_\0", 4)), "Yf9fAA==");
}

TEST(BytesText, Hex) {
  EXPECT_EQ(hex(""), "");
  EXPECT_EQ(hex(std::string("\x00\x0f\xff", 3)), "000fff");
}

}  // namespace
}  // namespace muster::agent
