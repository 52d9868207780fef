#include "agent/health/xid_catalogue.h"

#include <gtest/gtest.h>

#include <set>

namespace muster::agent {
namespace {

std::size_t count_of(XidClass kind) {
  std::size_t count = 0;
  for (const CataloguedXid& row : xid_catalogue()) {
    count += row.kind == kind ? 1 : 0;
  }
  return count;
}

TEST(XidCatalogue, HasEachCodeOnceInOrder) {
  ASSERT_EQ(xid_catalogue().size(), 172U);
  std::uint32_t code = 0;
  for (const CataloguedXid& row : xid_catalogue()) {
    EXPECT_EQ(row.code, ++code);
  }
}

TEST(XidCatalogue, HasTheCountsOfTheStudy) {
  EXPECT_EQ(count_of(XidClass::kAppFault), 48U);
  EXPECT_EQ(count_of(XidClass::kNoteOnly), 21U);
  EXPECT_EQ(count_of(XidClass::kResetGpu), 14U);
  EXPECT_EQ(count_of(XidClass::kRebootHost), 2U);
  EXPECT_EQ(count_of(XidClass::kWorkflow), 11U);
  EXPECT_EQ(count_of(XidClass::kTicket), 65U);
  EXPECT_EQ(count_of(XidClass::kUnknown), 11U);
}

TEST(XidCatalogue, AClassHasItsAction) {
  for (const CataloguedXid& row : xid_catalogue()) {
    switch (row.kind) {
      case XidClass::kAppFault:
        EXPECT_EQ(row.action, XidAction::kFailAttempt) << row.code;
        break;
      case XidClass::kResetGpu:
        EXPECT_EQ(row.action, XidAction::kMask) << row.code;
        break;
      case XidClass::kRebootHost:
        EXPECT_EQ(row.action, XidAction::kCordon) << row.code;
        break;
      case XidClass::kTicket:
        EXPECT_EQ(row.action, XidAction::kFail) << row.code;
        break;
      case XidClass::kNoteOnly:
      case XidClass::kUnknown:
        EXPECT_EQ(row.action, XidAction::kCount) << row.code;
        break;
      case XidClass::kWorkflow:
        EXPECT_NE(row.action, XidAction::kFail) << row.code;
        break;
    }
  }
}

TEST(XidCatalogue, KnowsTheFamousOnes) {
  EXPECT_EQ(xid_text(79), "Xid 79 (off the bus)");
  EXPECT_EQ(xid_text(9), "Xid 9");
  EXPECT_EQ(xid_text(500), "Xid 500");
  EXPECT_EQ(catalogued_xid(13).kind, XidClass::kAppFault);
  EXPECT_EQ(catalogued_xid(0).kind, XidClass::kUnknown);
  EXPECT_EQ(catalogued_xid(173).action, XidAction::kCount);
}

TEST(XidPolicy, LinesOfASiteStandOverTheCatalogue) {
  const Result<XidPolicy> policy = XidPolicy::parse("# ours\n\n 63 = mask\r\n119=count");
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->action(63), XidAction::kMask);
  EXPECT_EQ(policy->action(119), XidAction::kCount);
  EXPECT_EQ(policy->action(120), XidAction::kMask);
  EXPECT_EQ(policy->overrides().size(), 2U);
}

TEST(XidPolicy, EveryActionHasAWord) {
  for (const auto action : {XidAction::kCount, XidAction::kFailAttempt, XidAction::kSuspect,
                            XidAction::kMask, XidAction::kCordon, XidAction::kFail}) {
    EXPECT_EQ(xid_action_of(xid_action_word(action)), action);
  }
}

TEST(XidPolicy, ABadLineIsNamedWithWhatToWrite) {
  for (const std::string line : {"63", "63 = ", "63 = Mask", "0 = mask", "1000 = mask", "-1 = mask",
                                 "63x = mask", "= mask", "99999999999 = mask"}) {
    const Result<XidPolicy> policy = XidPolicy::parse("13 = count\n" + line + "\n");
    ASSERT_FALSE(policy.has_value()) << line;
    EXPECT_TRUE(policy.error().text.starts_with("line 2 ")) << policy.error().text;
    EXPECT_NE(policy.error().text.find("`63 = mask`"), std::string::npos) << policy.error().text;
  }
}

TEST(XidPolicy, ACodeHasOneLine) {
  EXPECT_FALSE(XidPolicy::parse("63 = mask\n63 = count").has_value());
}

TEST(XidPolicy, ALongTextIsRefused) {
  EXPECT_TRUE(XidPolicy::parse(std::string(kXidOverrideBytesMax, '\n')).has_value());
  EXPECT_FALSE(XidPolicy::parse(std::string(kXidOverrideBytesMax + 1, '\n')).has_value());
}

}  // namespace
}  // namespace muster::agent
