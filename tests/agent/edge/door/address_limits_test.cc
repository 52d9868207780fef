// Goal: the connections of an address are counted as they come, are proven and go. Method: a
// script, and the keys of addresses.

#include "agent/edge/door/address_limits.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

AddressLimits::Key limit_key(const char* ip) {
  return AddressLimits::key_of(*gossip::Endpoint::parse(ip, 1));
}

TEST(AddressLimits, AnAddressIsFullByAllOrByThoseWithoutProof) {
  AddressLimits limits(3, 2);
  const auto here = limit_key("10.0.0.1");
  const auto there = limit_key("10.0.0.2");
  limits.add(here, false);
  limits.add(here, false);
  EXPECT_FALSE(limits.has_room(here));
  EXPECT_TRUE(limits.has_room(there));
  limits.prove(here);
  EXPECT_TRUE(limits.has_room(here));
  limits.add(here, true);
  EXPECT_FALSE(limits.has_room(here));
  EXPECT_EQ(limits.unproven(), 1U);
  limits.remove(here, false);
  EXPECT_TRUE(limits.has_room(here));
  limits.remove(here, true);
  limits.remove(here, true);
  EXPECT_EQ(limits.unproven(), 0U);
}

TEST(AddressLimits, TheAddressesOfAnIpv6NetworkCountTogether) {
  EXPECT_EQ(limit_key("[2001:db8:0:1::1]:1"), limit_key("[2001:db8:0:1:ffff::2]:9"));
  EXPECT_NE(limit_key("[2001:db8:0:1::1]:1"), limit_key("[2001:db8:0:2::1]:1"));
  EXPECT_NE(limit_key("10.0.0.1"), limit_key("10.0.0.2"));
  EXPECT_NE(AddressLimits::key_of_uid(1), AddressLimits::key_of_uid(256));
}

}  // namespace
}  // namespace muster::agent
