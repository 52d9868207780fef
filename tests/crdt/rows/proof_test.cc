// Tests of proofs: one signature for all fields of a publish, and attacks on it.

#include "crdt/rows/proof.h"

#include <gtest/gtest.h>

#include "crdt/rows/codec.h"
#include "crdt/rows/row_check.h"
#include "tests/crdt/rows/signed_row.h"

namespace muster::crdt {
namespace {

const HostId kOwner = HostId::from_bytes("owner___________");
const HostId kOther = HostId::from_bytes("other___________");
const gossip::testing::StandInVerifier kKeys;
const gossip::testing::StandInSigner kSigner(kOwner);
constexpr std::uint32_t kFields[] = {1, 2, 4};

Row published_row() {
  Row row{Generation(2), {}};
  std::uint64_t sequence = 0;
  for (const std::uint32_t id : kFields) {
    row.fields[id] = {{Generation(2), Sequence(++sequence)}, "bytes of " + std::to_string(id)};
  }
  sign_together(kOwner, {1, 2, 4}, row, kSigner);
  return row;
}

bool is_proven(HostId host, std::uint32_t id, const Field& field) {
  return crdt::is_proven(host, id, field, kOwner.bytes(), kKeys);
}

/// Counts the calls of verify().
class Counting final : public gossip::Verifier {
 public:
  bool verify(std::string_view key, std::string_view words,
              std::string_view signature) const override {
    ++asked;
    return kKeys.verify(key, words, signature);
  }
  HostId host_of(std::string_view key) const override { return kKeys.host_of(key); }
  std::string link_key_of(std::string_view key) const override { return kKeys.link_key_of(key); }
  std::string digest(std::string_view words) const override { return kKeys.digest(words); }
  std::string sha256(std::string_view words) const override { return kKeys.sha256(words); }
  std::string sha512(std::string_view words) const override { return kKeys.sha512(words); }
  std::string seal(std::string_view key, std::string_view secret) const override {
    return kKeys.seal(key, secret);
  }
  mutable int asked = 0;
};

TEST(Proof, FieldsOfOnePublishAreSignedAndLookedAtOnce) {
  const Row row = published_row();
  for (const std::uint32_t id : kFields) {
    EXPECT_TRUE(is_proven(kOwner, id, row.fields.at(id))) << id;
    EXPECT_EQ(row.fields.at(id).proof, row.fields.at(1).proof);
  }
  const Counting keys;
  RowsToCheck rows;
  rows.body.rows = {{kOwner, row}};
  rows.owners = {{std::string(kOwner.bytes())}};
  const gossip::Authority authority{1, std::string(testing::kAuthority.bytes())};
  EXPECT_EQ(RowChecker(authority, keys).check(std::move(rows)).body.rows.at(0).row, row);
  EXPECT_EQ(keys.asked, 1);
}

TEST(Proof, AProofIsWrittenOnceARow) {
  const Row row = published_row();
  EXPECT_EQ(decode_row(encode_row(row)), row);
  Row apart = row;
  for (const std::uint32_t id : kFields) {
    sign_together(kOwner, {id}, apart, kSigner);
  }
  EXPECT_EQ(decode_row(encode_row(apart)), apart);
  const std::size_t shared = gossip::kSignatureBytes + 3 * gossip::kDigestBytes;
  EXPECT_EQ(encode_row(apart).size() - encode_row(row).size(),
            3 * gossip::kSignatureBytes - shared + 4)
      << "two lengths of two bytes more";
}

TEST(Proof, AFieldThatOutlivesTheOthersBringsTheirDigests) {
  Row row = published_row();
  row.fields[2] = {{Generation(2), Sequence(9)}, "later"};
  EXPECT_EQ(sign_together(kOwner, {2}, row, kSigner), 1U);
  EXPECT_EQ(row.fields[2].proof.size(), gossip::kSignatureBytes) << "alone it needs no list";
  for (const std::uint32_t id : kFields) {
    EXPECT_TRUE(is_proven(kOwner, id, row.fields.at(id))) << id;
  }
}

TEST(Proof, WhatOthersChangeProvesNothing) {
  const Field good = published_row().fields.at(2);
  const std::string signature = good.proof.substr(0, gossip::kSignatureBytes);
  const std::string list = good.proof.substr(gossip::kSignatureBytes);
  const auto digest = [&](std::size_t i) {
    return list.substr(i * gossip::kDigestBytes, gossip::kDigestBytes);
  };
  Field other = good;
  other.bytes = "else";
  EXPECT_FALSE(is_proven(kOwner, 2, other)) << "the list has another digest";
  other = good;
  other.version.sequence = other.version.sequence.next();
  EXPECT_FALSE(is_proven(kOwner, 2, other));
  EXPECT_FALSE(is_proven(kOwner, 3, good)) << "under another number";
  EXPECT_FALSE(is_proven(kOther, 2, good)) << "as of another host";
  const std::string proofs[] = {
      "",
      signature,                                      // Without its list.
      signature + digest(0) + digest(2),              // Not named.
      signature + digest(1),                          // A list of one.
      signature + digest(0) + digest(1),              // Shortened.
      signature + digest(1) + digest(0) + digest(2),  // In another order.
      signature + digest(1) + digest(1) + digest(2),  // Named twice.
      signature + list + digest(0),                   // Longer.
      signature + list.substr(1),                     // Of no whole digests.
      good.proof.substr(1),
  };
  for (const std::string& proof : proofs) {
    other = good;
    other.proof = proof;
    EXPECT_FALSE(is_proven(kOwner, 2, other)) << proof.size();
  }
}

TEST(Proof, AListThatNamesAFieldTwiceIsRefusedAlthoughItsOwnerSignedIt) {
  Row row = published_row();
  sign_together(kOwner, {2, 2}, row, kSigner);
  EXPECT_FALSE(is_proven(kOwner, 2, row.fields.at(2)));
}

TEST(Proof, ARowOfAProofThatItDoesNotListIsRefused) {
  gossip::Encoder out;
  out.array(3).u64(2).array(1).bytes("proof").map(1).u64(4);
  out.array(4).u64(2).u64(1).bytes("bytes").u64(1);
  EXPECT_FALSE(decode_row(out.take()).has_value());
}

/// Each field of a row may name the same long proof, for a few bytes.
TEST(Proof, ManyFieldsOfOneProofTakeNoMoreRoomThanTheLimit) {
  gossip::Encoder out;
  constexpr std::size_t kRows = 100;
  out.array(7).boolean(false).array(0).array(kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    out.array(4).id(kOwner).u64(2).array(1).bytes(std::string(kProofBytesMax, 'p'));
    out.map(kRowFieldsMax);
    for (std::uint64_t id = 0; id < kRowFieldsMax; ++id) {
      out.u64(id).array(4).u64(2).u64(1).bytes("").u64(0);
    }
  }
  out.array(0).boolean(false).u64(0).boolean(false);
  const auto document = gossip::Document::parse(out.take());
  ASSERT_TRUE(document.has_value());
  EXPECT_FALSE(decode_rows(document->root()).has_value());
}

}  // namespace
}  // namespace muster::crdt
