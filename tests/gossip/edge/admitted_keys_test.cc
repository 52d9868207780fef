// Tests of AdmittedKeys: the last Admit of a key counts, and there is a limit.

#include "gossip/edge/admitted_keys.h"

#include <gtest/gtest.h>

namespace muster::gossip {
namespace {

std::string key_of(char c) {
  return std::string(kLinkKeyBytes, c);
}

Sender host_of(char c) {
  Sender sender;
  sender.kind = Sender::Kind::kHost;
  sender.host = HostId::from_bytes(std::string(HostId::kSizeBytes, c));
  return sender;
}

TEST(AdmittedKeys, TheLastWordAboutAKeyCounts) {
  AdmittedKeys keys;
  EXPECT_FALSE(keys.find(key_of('a')).has_value());
  EXPECT_TRUE(keys.admit({key_of('a'), host_of('1')}));
  EXPECT_TRUE(keys.admit({key_of('a'), host_of('2')}));
  EXPECT_EQ(keys.find(key_of('a')), host_of('2'));
  EXPECT_TRUE(keys.admit({key_of('a'), Sender()}));
  EXPECT_FALSE(keys.find(key_of('a')).has_value());
  EXPECT_TRUE(keys.admit({key_of('a'), Sender()})) << "there is nothing to do";
}

TEST(AdmittedKeys, AFullTableChangesAndTakesOutButTakesNothingIn) {
  AdmittedKeys keys(1);
  EXPECT_TRUE(keys.admit({key_of('a'), host_of('1')}));
  EXPECT_FALSE(keys.admit({key_of('b'), host_of('2')}));
  EXPECT_FALSE(keys.find(key_of('b')).has_value());
  EXPECT_TRUE(keys.admit({key_of('a'), host_of('3')}));
  EXPECT_TRUE(keys.admit({key_of('a'), Sender()}));
  EXPECT_TRUE(keys.admit({key_of('b'), host_of('2')}));
}

TEST(AdmittedKeys, WhatHasNotTheSizeOfAKeyIsNone) {
  AdmittedKeys keys;
  EXPECT_FALSE(keys.admit({"", host_of('1')}));
  EXPECT_FALSE(keys.admit({key_of('a') + "a", host_of('1')}));
  EXPECT_FALSE(keys.find("").has_value());
}

}  // namespace
}  // namespace muster::gossip
