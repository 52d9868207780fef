// A membership as it lies on disk: whole, or refused.

#include "agent/edge/join/membership_record.h"

#include <gtest/gtest.h>

#include <utility>

#include "agent/api/payload.h"
#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

Contact contact(char name, std::uint64_t number) {
  return {std::string("10.0.0.") + name + ":7450",
          std::string(gossip::kLinkKeyBytes, name),
          HostId::from_bytes(std::string(HostId::kSizeBytes, name)),
          number,
          number + 1,
          std::string("record ") + name,
          std::string("signature ") + name,
          std::string("link row ") + name};
}

/// Every field that the record keeps has a value of its own.
MembershipRecord full_record() {
  MembershipRecord record;
  record.link_seed = std::string(gossip::kLinkSeedBytes, 's');
  record.authority = "authority";
  record.authority_seed = "authority seed";
  record.authority_links = {{2, "second", "by the first"}, {3, "third", "by the second"}};
  record.own = contact('1', 5);
  record.contacts = {contact('2', 7), contact('3', 9)};
  record.founders = 3;
  record.founding_ticket = "founding ticket";
  return record;
}

std::string bytes_of(const MembershipRecord& record) {
  const crdt::WriteBatch writes = writes_of(record);
  EXPECT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes.at(0).key, "membership");
  return writes.at(0).value.value_or("");
}

Result<std::optional<MembershipRecord>> read_from(std::string bytes) {
  return membership_in({{"membership", std::move(bytes)}});
}

void expect_damaged(std::string bytes, const std::string& how) {
  const auto read = read_from(std::move(bytes));
  ASSERT_FALSE(read.has_value()) << how;
  EXPECT_EQ(read.error().code, ErrorCode::kCorrupt) << how;
  EXPECT_NE(read.error().text.find("join with a new ticket"), std::string::npos) << how;
}

TEST(MembershipRecord, ARecordComesBackAsWritten) {
  const auto read = read_from(bytes_of(full_record()));
  ASSERT_TRUE(read.has_value()) << read.error().text;
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ(**read, full_record());
}

TEST(MembershipRecord, TheClusterHasARecordOfItsOwn) {
  MembershipRecord record = full_record();
  record.cluster = ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'c'));
  EXPECT_EQ(bytes_of(record), bytes_of(full_record()));
}

TEST(MembershipRecord, AHostWithoutOneIsNoMemberYet) {
  const auto read = membership_in({{"key/seed", "something else"}});
  ASSERT_TRUE(read.has_value()) << read.error().text;
  EXPECT_FALSE(read->has_value());
}

TEST(MembershipRecord, ATruncatedOneIsDamaged) {
  const std::string bytes = bytes_of(full_record());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    expect_damaged(bytes.substr(0, size), std::to_string(size) + " bytes of it");
  }
}

/// In order: version, link seed, authority and its seed, the others, founders, their ticket, first
/// administrator.
std::string bytes_with(std::uint64_t version, std::size_t seed_bytes, const std::string& others) {
  gossip::Encoder out;
  out.array(8).u64(version).bytes(std::string(seed_bytes, 's')).bytes("authority");
  out.bytes("authority seed").bytes(others).u64(0).bytes("").text("");
  return out.take();
}

TEST(MembershipRecord, AnotherVersionIsNotGuessedAt) {
  const std::string others = encode_payload(JoinInfo());
  ASSERT_TRUE(read_from(bytes_with(2, gossip::kLinkSeedBytes, others)).has_value());
  expect_damaged(bytes_with(1, gossip::kLinkSeedBytes, others), "version 1");
  expect_damaged(bytes_with(3, gossip::kLinkSeedBytes, others), "version 3");
}

TEST(MembershipRecord, ASeedOfAnotherSizeMakesNoKeys) {
  const std::string others = encode_payload(JoinInfo());
  expect_damaged(bytes_with(2, gossip::kLinkSeedBytes - 1, others), "a byte less");
  expect_damaged(bytes_with(2, gossip::kLinkSeedBytes + 1, others), "a byte more");
}

TEST(MembershipRecord, OneWhoseOwnRecordCannotBeReadIsDamaged) {
  const std::string others = encode_payload(JoinInfo());
  expect_damaged(bytes_with(2, gossip::kLinkSeedBytes, ""), "no bytes");
  expect_damaged(bytes_with(2, gossip::kLinkSeedBytes, others.substr(0, others.size() - 1)),
                 "a byte less");
}

}  // namespace
}  // namespace muster::agent
