// Tests of the rules for names.

#include "gossip/base/name.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(Name, AWordCanBeTypedAndListed) {
  for (const char* good : {"a", "gpu-07.rack_3", "_x", "7", "1a.2", "H100", "A100-SXM4-80GB"}) {
    EXPECT_TRUE(is_word_name(good)) << good;
    EXPECT_TRUE(check_word_name(good, "host").has_value()) << good;
  }
  EXPECT_TRUE(is_word_name(std::string(kWordNameBytesMax, 'a')));
  EXPECT_FALSE(is_word_name(std::string(kWordNameBytesMax + 1, 'a')));
}

TEST(Name, WhatCannotBeNamedAgainIsNoWord) {
  // An option, an address, a path, a list, a table's gap, what a terminal obeys.
  for (const char* bad : {"", "-a", ".a", "gpu:1", "10.0.0.7", "1.2", "::1", "a/b", "a,b", "a b",
                          "a\n", "a\x1b[2J", "caf\u00e9", "a\xff", "a'b", "*"}) {
    EXPECT_FALSE(is_word_name(bad)) << bad;
    EXPECT_FALSE(check_word_name(bad, "host").has_value()) << bad;
  }
}

TEST(Name, ARefusalSaysWhatIsAllowedAndObeysNothing) {
  EXPECT_EQ(check_word_name("a\n\x1b[2J\xff", "host").error().text,
            "'a??[2J?' is not a valid name for a host: letters, digits and . _ - are allowed, a "
            "letter, digit or _ first, at most 64");
  EXPECT_EQ(check_word_name("10.0.0.7", "host").error().text,
            "'10.0.0.7' is not a valid name for a host: it is an address; letters, digits and . _ "
            "- are allowed, a letter, digit or _ first, at most 64");
}

TEST(Name, ALineMayHaveBlanksAndNothingThatSteersATerminal) {
  for (const char* good : {"", "fine tuning, 3rd try", "caf\u00e9 \u20ac \U0001f600", "a/b:c"}) {
    EXPECT_TRUE(is_line_name(good)) << good;
  }
  for (const char* bad : {" a", "a ", "x\nstate failed", "a\tb", "\x7f", "\u0085", "\u2028",
                          "a\u202e"
                          "b",
                          "\u2066", "\ufeff", "\xff", "a\xc3"}) {
    EXPECT_FALSE(is_line_name(bad)) << bad;
  }
}

TEST(Name, LabelsHaveOneEqualsSign) {
  for (const char* good : {"disk=nvme", "a", "a/b.c=d-e_f", "a="}) {
    EXPECT_TRUE(is_label(good)) << good;
  }
  for (const char* bad : {"", "=a", "a=b=c", "a b", "a\n", "a,b"}) {
    EXPECT_FALSE(is_label(bad)) << bad;
  }
}

TEST(Name, Utf8IsWholeShortestAndWithinUnicode) {
  for (const char* good : {"", "abc", "\u00e4", "\u20ac", "\U0001f600", "\xed\x9f\xbf"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  // Cut, alone, overlong, a surrogate, beyond the last character.
  for (const char* bad : {"\xff", "\x80", "a\xc3", "\xe2\x82", "\xc0\x80", "\xe0\x80\x80",
                          "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

}  // namespace
}  // namespace muster
