// Goal: a refusal is told when the log has its note, or after a while.

#include "agent/front/held_refusals.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;

const Instant kHeldAt{100s};

HeldRefusal refusal_of(const std::string& text) {
  HeldRefusal refusal;
  refusal.response.text = text;
  return refusal;
}

std::vector<std::string> texts_of(const std::vector<HeldRefusal>& refusals) {
  std::vector<std::string> texts;
  for (const HeldRefusal& each : refusals) {
    texts.push_back(each.response.text);
  }
  return texts;
}

TEST(HeldRefusals, AreToldWhenTheirNotesAreSettled) {
  HeldRefusals held;
  EXPECT_EQ(held.next_deadline(), kNever);
  EXPECT_TRUE(held.hold(kHeldAt, 4, refusal_of("four")));
  EXPECT_TRUE(held.hold(kHeldAt, 5, refusal_of("five")));
  EXPECT_TRUE(held.hold(kHeldAt + 1s, 7, refusal_of("seven")));
  EXPECT_TRUE(held.take(kHeldAt + 1s, 3).empty());
  EXPECT_EQ(texts_of(held.take(kHeldAt + 1s, 6)), (std::vector<std::string>{"four", "five"}));
  EXPECT_EQ(texts_of(held.take(kHeldAt + 1s, 7)), std::vector<std::string>{"seven"});
  EXPECT_EQ(held.next_deadline(), kNever);
}

TEST(HeldRefusals, AreToldAfterAWhileWhenNoLogTakesTheNote) {
  HeldRefusals held;
  held.hold(kHeldAt, 1, refusal_of("one"));
  held.hold(kHeldAt + 1s, 2, refusal_of("two"));
  EXPECT_EQ(held.next_deadline(), kHeldAt + HeldRefusals::kPatience);
  EXPECT_EQ(texts_of(held.take(kHeldAt + HeldRefusals::kPatience, 0)),
            std::vector<std::string>{"one"});
  EXPECT_EQ(held.next_deadline(), kHeldAt + 1s + HeldRefusals::kPatience);
}

TEST(HeldRefusals, AreLimited) {
  HeldRefusals held;
  for (std::size_t i = 0; i < HeldRefusals::kHeldMax; ++i) {
    EXPECT_TRUE(held.hold(kHeldAt, i + 1, refusal_of("")));
  }
  EXPECT_FALSE(held.hold(kHeldAt, HeldRefusals::kHeldMax + 1, refusal_of("")));
  EXPECT_EQ(held.take(kHeldAt, HeldRefusals::kHeldMax).size(), HeldRefusals::kHeldMax);
}

}  // namespace
}  // namespace muster::agent
