// The laws that let rows travel in any order, any number of times, over any path.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "crdt/rows/row.h"

namespace muster::crdt {
namespace {

/// Small numbers, so that equal versions and fields meet often; fields include unknown ones.
rc::Gen<Row> any_row() {
  return rc::gen::exec([] {
    Row row;
    row.full_from = Generation(*rc::gen::inRange<std::uint64_t>(0, 4));
    const auto fields = *rc::gen::inRange(0, 5);
    for (int i = 0; i < fields; ++i) {
      const auto id = *rc::gen::inRange<std::uint32_t>(1, 9);
      const RowVersion version{Generation(*rc::gen::inRange<std::uint64_t>(1, 4)),
                               Sequence(*rc::gen::inRange<std::uint64_t>(1, 4))};
      if (version.generation >= row.full_from) {
        row.fields[id] = Field{version, std::string(1, *rc::gen::element('a', 'b'))};
      }
    }
    return row;
  });
}

Row joined(Row left, const Row& right) {
  join(left, right);
  return left;
}

TEST(RowJoin, IsCommutative) {
  EXPECT_TRUE(rc::check([] {
    const Row a = *any_row();
    const Row b = *any_row();
    RC_ASSERT(joined(a, b) == joined(b, a));
  }));
}

TEST(RowJoin, IsAssociative) {
  EXPECT_TRUE(rc::check([] {
    const Row a = *any_row();
    const Row b = *any_row();
    const Row c = *any_row();
    RC_ASSERT(joined(joined(a, b), c) == joined(a, joined(b, c)));
  }));
}

TEST(RowJoin, IsIdempotentAndReportsNoChangeThen) {
  EXPECT_TRUE(rc::check([] {
    const Row a = *any_row();
    const Row b = *any_row();
    Row both = joined(a, b);
    RC_ASSERT(join(both, b).empty());
    RC_ASSERT(join(both, a).empty());
  }));
}

TEST(RowJoin, KeepsUnknownFieldsThroughTheCodec) {
  EXPECT_TRUE(rc::check([] {
    const Row row = *any_row();
    RC_ASSERT(decode_row(encode_row(row)) == std::optional<Row>(row));
  }));
}

}  // namespace
}  // namespace muster::crdt
