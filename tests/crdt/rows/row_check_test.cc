// Tests of RowChecker: fields of the owner stay, whatever other fields come with them.

#include "crdt/rows/row_check.h"

#include <gtest/gtest.h>

#include "crdt/rows/link_cert.h"
#include "crdt/rows/roll.h"
#include "tests/crdt/rows/signed_row.h"

namespace muster::crdt {
namespace {

using testing::signed_row;

const HostId kOwner = HostId::from_bytes("owner___________");
const HostId kThief = HostId::from_bytes("thief___________");
constexpr auto kIdentity = static_cast<std::uint32_t>(FieldId::kIdentity);
constexpr auto kRoll = static_cast<std::uint32_t>(FieldId::kRoll);
constexpr auto kCapacity = static_cast<std::uint32_t>(FieldId::kCapacity);

const gossip::Authority kFirst{1, std::string(testing::kAuthority.bytes())};
const HostId kSecondAuthority = HostId::from_bytes("authority 2_____");
const HostId kVoter = HostId::from_bytes("voter___________");

RowOf plain_row() {
  RowOf row{kOwner, {Generation(2), {}}};
  Identity identity;
  identity.name = "owner";
  row.row.fields[kIdentity] = {{Generation(2), Sequence(1)}, encode(identity)};
  row.row.fields[kCapacity] = {{Generation(2), Sequence(2)}, "eight"};
  return row;
}

/// The voter's row with the second authority, whose link `by` signed.
RowOf word_of_authority(HostId by, bool may_vote = true) {
  const std::string key(kSecondAuthority.bytes());
  const AuthorityView view{
      {{2, key, gossip::testing::StandInSigner(by).sign(gossip::authority_words(2, key))}}, 0};
  RowOf row{kVoter, {Generation(1), {}}};
  row.row.fields[static_cast<std::uint32_t>(FieldId::kAuthority)] = {{Generation(1), Sequence(1)},
                                                                     encode(view)};
  row = signed_row(std::move(row));
  row.row.fields[kRoll] = testing::roll_field(kVoter, testing::record_of(kVoter, 0, may_vote));
  return row;
}

/// A row whose record the second authority signed.
RowOf row_of_second_authority() {
  RowOf row = signed_row(plain_row());
  row.row.fields[kRoll] =
      signed_roll(kOwner, {Generation(2), Sequence(1)}, testing::record_of(kOwner),
                  gossip::testing::StandInSigner(kSecondAuthority));
  return row;
}

RowsToCheck rows_to_check(std::vector<RowOf> rows) {
  RowsToCheck check;
  check.body.rows = std::move(rows);
  return check;
}

RowsChecked check(RowOf row, std::string key = "") {
  RowsToCheck rows;
  rows.from = kThief;
  rows.body.rows.push_back(std::move(row));
  rows.body.want.push_back(kOwner);
  rows.owners.push_back({std::move(key)});
  const gossip::testing::StandInVerifier keys;
  return RowChecker(kFirst, keys).check(std::move(rows));
}

TEST(RowCheck, TheOwnersOwnWordsPassUnchanged) {
  const RowOf row = signed_row(plain_row());
  const RowsChecked checked = check(row);
  ASSERT_EQ(checked.body.rows.size(), 1U);
  EXPECT_EQ(checked.body.rows[0].row, row.row);
  EXPECT_EQ(checked.forged, 0U);
  EXPECT_EQ(checked.from, kThief);
  EXPECT_EQ(checked.body.want.size(), 1U) << "what came along comes back";
}

TEST(RowCheck, WhateverIsChangedLeavesItsFieldOut) {
  for (int kind = 0; kind < 5; ++kind) {
    RowOf row = signed_row(plain_row());
    Field& field = row.row.fields[kCapacity];
    switch (kind) {
      case 0:
        field.bytes = "nine";
        break;
      case 1:
        field.version.sequence = Sequence(3);
        break;
      case 2:
        field.version.generation = Generation(3);
        break;
      case 3:
        field.proof = "";
        break;
      default:  // The words of one field under another's number.
        row.row.fields[77] = field;
        row.row.fields.erase(kCapacity);
    }
    const RowsChecked checked = check(row);
    EXPECT_EQ(checked.forged, 1U) << kind;
    EXPECT_EQ(checked.forged_of, kOwner);
    ASSERT_EQ(checked.body.rows.size(), 1U);
    const auto& left = checked.body.rows[0].row.fields;
    EXPECT_TRUE(left.contains(kIdentity)) << kind;
    EXPECT_FALSE(left.contains(kCapacity)) << kind;
    EXPECT_FALSE(left.contains(77)) << kind;
  }
}

TEST(RowCheck, AnotherHostsRowUnderThisHostsIdIsForged) {
  RowOf row = signed_row(plain_row());
  row.host = kThief;
  const RowsChecked checked = check(row);
  EXPECT_TRUE(checked.body.rows.empty());
  EXPECT_EQ(checked.forged, 1U) << "that record is not of that host";
}

TEST(RowCheck, ARecordCountsOnlyWhenTheAuthoritySignedIt) {
  RowOf row = signed_row(plain_row());
  Field& roll = row.row.fields[kRoll];
  RollRecord taken_over = testing::record_of(kOwner);
  taken_over.link_key = std::string(kThief.bytes());
  roll = signed_roll(kOwner, {Generation(1), Sequence(2)}, taken_over,
                     gossip::testing::StandInSigner(kThief));
  EXPECT_EQ(check(row, std::string(kOwner.bytes())).forged, 1U);
  EXPECT_TRUE(check(row, std::string(kOwner.bytes())).body.rows.empty());
  roll = testing::roll_field(kOwner, taken_over, 2);
  EXPECT_EQ(check(row).forged, 0U);
  EXPECT_EQ(check(row).body.rows.at(0).row.fields.at(kRoll), roll);
}

TEST(RowCheck, AnotherHostsWordsBesideTheOwnersRecordAreForged) {
  const RowsChecked checked = check(signed_row(plain_row(), kThief));
  EXPECT_EQ(checked.forged, 1U);
  for (const RowOf& row : checked.body.rows) {
    EXPECT_FALSE(row.row.fields.contains(kIdentity));
    EXPECT_FALSE(row.row.fields.contains(kCapacity));
  }
}

TEST(RowCheck, BehindTheFirstForgedFieldNothingIsLookedAt) {
  RowsToCheck rows;
  RowOf forged = signed_row(plain_row());
  forged.row.fields[kCapacity].bytes = "nine";
  rows.body.rows = {forged, signed_row(plain_row())};
  rows.owners = {{}, {}};
  const gossip::testing::StandInVerifier keys;
  const RowsChecked checked = RowChecker(kFirst, keys).check(std::move(rows));
  EXPECT_EQ(checked.forged, 1U);
  EXPECT_EQ(checked.body.rows.size(), 1U);
}

TEST(RowCheck, AKeyThatWasProvenOnceServesTheNextMessage) {
  const gossip::testing::StandInVerifier keys;
  RowChecker checker(kFirst, keys);
  RowsToCheck whole;
  whole.body.rows = {signed_row(plain_row())};
  RowsToCheck news = whole;
  news.body.rows[0].row.fields.erase(kRoll);
  EXPECT_EQ(checker.check(news).keyless.size(), 1U);
  EXPECT_EQ(checker.check(whole).keyless.size(), 0U);
  EXPECT_EQ(checker.check(news).body.rows.size(), 1U);
}

TEST(RowCheck, AFieldAloneNeedsAKeyThatIsKnown) {
  RowOf row = signed_row(plain_row());
  row.row.fields.erase(kIdentity);
  row.row.fields.erase(kRoll);
  EXPECT_EQ(check(row).keyless, std::vector<HostId>{kOwner});
  const RowsChecked known = check(row, std::string(kOwner.bytes()));
  ASSERT_EQ(known.body.rows.size(), 1U);
  EXPECT_EQ(known.body.rows[0].row.fields.size(), 1U);
}

TEST(RowCheck, NobodyDropsWhatIsHeldByAGenerationThatNoFieldShows) {
  RowOf row = signed_row(plain_row());
  row.row.full_from = Generation(9);
  EXPECT_EQ(check(row).body.rows.at(0).row.full_from, Generation(2));
  row.row.full_from = Generation(1);
  EXPECT_EQ(check(row).body.rows.at(0).row.full_from, Generation(2)) << "nor is it lowered";
  row.row.fields.clear();
  EXPECT_TRUE(check(row, std::string(kOwner.bytes())).body.rows.empty());
}

TEST(RowCheck, AVotersWordOfAnotherAuthorityCountsWhenTheLastOneSignedIt) {
  const gossip::testing::StandInVerifier keys;
  RowChecker checker(kFirst, keys);
  const RowsChecked before = checker.check(rows_to_check({row_of_second_authority()}));
  EXPECT_EQ(before.forged, 0U);
  EXPECT_TRUE(before.lacks_authority);
  EXPECT_EQ(before.keyless, std::vector<HostId>{kOwner});
  // The first message teaches the checker that its sender may vote: it counts from the second on.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(checker.check(rows_to_check({word_of_authority(kThief)})).authority, 1U);
  }
  const RowsChecked said = checker.check(rows_to_check({word_of_authority(testing::kAuthority)}));
  EXPECT_EQ(said.authority, 2U);
  ASSERT_EQ(said.links.size(), 1U);
  EXPECT_EQ(said.links[0].key, kSecondAuthority.bytes());
  const RowsChecked after = checker.check(rows_to_check({row_of_second_authority()}));
  ASSERT_EQ(after.body.rows.size(), 1U);
  EXPECT_TRUE(after.body.rows[0].row.fields.contains(kRoll));
}

TEST(RowCheck, WhoMayNotVoteIsNotHeardAboutTheAuthority) {
  const gossip::testing::StandInVerifier keys;
  RowChecker checker(kFirst, keys);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(
        checker.check(rows_to_check({word_of_authority(testing::kAuthority, false)})).authority,
        1U);
  }
}

TEST(RowCheck, RecordsOfAnAuthorityThatWasReplacedAreNoNews) {
  const gossip::testing::StandInVerifier keys;
  RowChecker checker(kFirst, keys);
  RowsToCheck told;
  const std::string key(kSecondAuthority.bytes());
  told.links = {
      {2, key,
       gossip::testing::StandInSigner(testing::kAuthority).sign(gossip::authority_words(2, key))}};
  EXPECT_EQ(checker.check(std::move(told)).authority, 2U);
  const RowsChecked stranger = checker.check(rows_to_check({signed_row(plain_row())}));
  EXPECT_TRUE(stranger.body.rows.empty()) << "nobody knows it by another record";
  EXPECT_FALSE(stranger.lacks_authority);
  RowsToCheck known = rows_to_check({signed_row(plain_row())});
  known.owners = {{std::string(kOwner.bytes())}};
  const RowsChecked fields = checker.check(std::move(known));
  ASSERT_EQ(fields.body.rows.size(), 1U);
  EXPECT_FALSE(fields.body.rows[0].row.fields.contains(kRoll));
  EXPECT_TRUE(fields.body.rows[0].row.fields.contains(kCapacity)) << "the owner's own words";
}

TEST(RowCheck, NobodyNamesALinkKeyOfWhichItHasNoSecret) {
  const auto row_with = [](HostId key_of, HostId signer) {
    RowOf row = plain_row();
    const std::string key(key_of.bytes());
    const LinkCert cert{
        "base", 1, key, "", 0, proof_of(kOwner, key, gossip::testing::StandInSigner(signer)), {}};
    row.row.fields[static_cast<std::uint32_t>(FieldId::kLink)] = {{Generation(2), Sequence(3)},
                                                                  encode(cert)};
    return signed_row(std::move(row));
  };
  EXPECT_EQ(check(row_with(kThief, kThief)).forged, 0U);
  EXPECT_EQ(check(row_with(kVoter, kThief)).forged, 1U) << "another's key";
  EXPECT_EQ(check(row_with(kVoter, kVoter)).forged, 0U) << "who signs by it has its secret";
}

}  // namespace
}  // namespace muster::crdt
