// Tests of Base64: the texts of RFC 4648, and that each run of bytes has one text alone.

#include "gossip/base/base64.h"

#include <gtest/gtest.h>

#include <utility>

namespace muster {
namespace {

TEST(Base64Test, WritesAndReadsTheTextsOfTheStandard) {
  // RFC 4648, section 10.
  for (const auto& [bytes, letters] : {std::pair("", ""),
                                       {"f", "Zg=="},
                                       {"fo", "Zm8="},
                                       {"foo", "Zm9v"},
                                       {"foob", "Zm9vYg=="},
                                       {"fooba", "Zm9vYmE="},
                                       {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(to_base64(bytes, Base64::kPadded), letters);
    EXPECT_EQ(from_base64(letters, Base64::kPadded), bytes);
    const std::string bare = std::string(letters).substr(0, std::string(letters).find('='));
    for (const Base64 form : {Base64::kUnpadded, Base64::kUrl}) {
      EXPECT_EQ(to_base64(bytes, form), bare);
      EXPECT_EQ(from_base64(bare, form), bytes);
    }
  }
}

TEST(Base64Test, TheFormsDifferInTwoLetters) {
  EXPECT_EQ(to_base64("\xfb\xef\xff", Base64::kPadded), "++//");
  EXPECT_EQ(to_base64("\xfb\xef\xff", Base64::kUrl), "--__");
  EXPECT_FALSE(from_base64("++//", Base64::kUrl).has_value());
  EXPECT_FALSE(from_base64("--__", Base64::kUnpadded).has_value());
}

TEST(Base64Test, EveryByteComesBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
    for (const Base64 form : {Base64::kPadded, Base64::kUnpadded, Base64::kUrl}) {
      EXPECT_EQ(from_base64(to_base64(bytes, form), form), bytes) << i;
    }
  }
}

TEST(Base64Test, AnyOtherTextIsRefused) {
  for (const char* padded : {"Z", "Zg", "Zg=", "Zg===", "Zg==Zg==", "=", "====", "Z===", "Zm9v====",
                             "Zm9v=", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "Zm\xc3\xa4", "Z=g="}) {
    EXPECT_FALSE(from_base64(padded, Base64::kPadded).has_value()) << padded;
  }
  for (const char* bare : {"Z", "Zg==", "Zh", "Zm9", "Zm9vZ", " Zg"}) {
    EXPECT_FALSE(from_base64(bare, Base64::kUnpadded).has_value()) << bare;
  }
}

}  // namespace
}  // namespace muster
