// Rows that arrive: what is the owner's stays, whatever else was put beside it.

#include "crdt/rows/row_check.h"

#include <gtest/gtest.h>

#include "tests/crdt/rows/signed_row.h"

namespace muster::crdt {
namespace {

using testing::signed_row;

const HostId kOwner = HostId::from_bytes("owner___________");
const HostId kThief = HostId::from_bytes("thief___________");
constexpr auto kIdentity = static_cast<std::uint32_t>(FieldId::kIdentity);
constexpr auto kCapacity = static_cast<std::uint32_t>(FieldId::kCapacity);

RowOf plain_row() {
  RowOf row{kOwner, {Generation(2), {}}};
  Identity identity;
  identity.name = "owner";
  row.row.fields[kIdentity] = {{Generation(2), Sequence(1)}, encode(identity)};
  row.row.fields[kCapacity] = {{Generation(2), Sequence(2)}, "eight"};
  return row;
}

RowsChecked check(RowOf row, std::string key = "") {
  RowsToCheck rows;
  rows.from = kThief;
  rows.body.rows.push_back(std::move(row));
  rows.body.want.push_back(kOwner);
  rows.keys.push_back(std::move(key));
  return check_rows(std::move(rows), gossip::testing::StandInVerifier());
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
        field.signature = "";
        break;
      default:  // The words of one field under another's number.
        row.row.fields[77] = field;
        row.row.fields.erase(kCapacity);
    }
    const RowsChecked checked = check(row);
    EXPECT_EQ(checked.forged, 1U) << kind;
    EXPECT_EQ(checked.forged_of, kOwner);
    ASSERT_EQ(checked.body.rows.size(), 1U);
    EXPECT_EQ(checked.body.rows[0].row.fields.size(), 1U) << kind;
    EXPECT_TRUE(checked.body.rows[0].row.fields.contains(kIdentity));
  }
}

TEST(RowCheck, AnotherHostsRowUnderThisHostsIdIsForged) {
  RowOf row = signed_row(plain_row());
  row.host = kThief;
  const RowsChecked checked = check(row);
  EXPECT_TRUE(checked.body.rows.empty());
  EXPECT_EQ(checked.keyless, std::vector<HostId>{kThief}) << "that key is not of that host";
}

TEST(RowCheck, AKeyInTheRowCountsOnlyWhenItsHashIsTheHost) {
  const RowsChecked checked = check(signed_row(plain_row(), kThief));
  EXPECT_TRUE(checked.body.rows.empty());
  EXPECT_EQ(checked.keyless, std::vector<HostId>{kOwner});
  const RowsChecked known = check(signed_row(plain_row(), kThief), std::string(kOwner.bytes()));
  EXPECT_TRUE(known.body.rows.empty());
  EXPECT_EQ(known.forged, 2U);
}

TEST(RowCheck, AFieldAloneNeedsAKeyThatIsKnown) {
  RowOf row = signed_row(plain_row());
  row.row.fields.erase(kIdentity);
  EXPECT_EQ(check(row).keyless, std::vector<HostId>{kOwner});
  const RowsChecked known = check(row, std::string(kOwner.bytes()));
  ASSERT_EQ(known.body.rows.size(), 1U);
  EXPECT_EQ(known.body.rows[0].row.fields.size(), 1U);
}

TEST(RowCheck, NobodyDropsWhatIsHeldByAGenerationThatNoFieldShows) {
  RowOf row = signed_row(plain_row());
  row.row.full_from = Generation(9);
  EXPECT_EQ(check(row).body.rows.at(0).row.full_from, Generation());
  row.row.fields.clear();
  EXPECT_TRUE(check(row, std::string(kOwner.bytes())).body.rows.empty());
}

}  // namespace
}  // namespace muster::crdt
