// The work of the loop is counted by kind, and all of its CPU time belongs to one.

#include "agent/edge/run/loop_account.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace muster::agent {
namespace {

std::string message(gossip::MessageType type) {
  gossip::Envelope envelope;
  envelope.type = type;
  return gossip::encode(envelope, std::string("\x90", 1));
}

const Counter* find(const std::vector<Counter>& counters, const std::string& name) {
  const auto found = std::find_if(counters.begin(), counters.end(),
                                  [&](const Counter& each) { return each.name == name; });
  return found == counters.end() ? nullptr : &*found;
}

/// Some milliseconds of CPU.
void work() {
  volatile std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < 3'000'000; ++i) {
    sum = sum + i;
  }
}

TEST(LoopAccount, CountsByTypeAndGivesTheTimeToWhatTookIt) {
  LoopAccount account;
  account.took(LoopAccount::Work::kWait);
  work();
  account.heard(gossip::MessageType::kRows, 100);
  account.heard(gossip::MessageType::kProbe, 20);
  account.heard(static_cast<gossip::MessageType>(200), 7);
  account.said(message(gossip::MessageType::kAck));
  account.said("noise");
  const std::vector<Counter> counters = account.counters();
  const Counter* rows = find(counters, "received.rows");
  const Counter* probes = find(counters, "received.probe");
  ASSERT_TRUE(rows != nullptr && probes != nullptr);
  EXPECT_EQ(rows->count, 1U);
  EXPECT_EQ(rows->bytes, 100U);
  EXPECT_GT(rows->cpu_us, probes->cpu_us);
  EXPECT_EQ(find(counters, "received.other")->bytes, 7U);
  EXPECT_EQ(find(counters, "sent.ack")->bytes, message(gossip::MessageType::kAck).size());
  EXPECT_EQ(find(counters, "sent.other")->count, 1U);
  EXPECT_EQ(find(counters, "received.hello"), nullptr) << "none came";
}

TEST(LoopAccount, ThreadsAreToldByName) {
  const std::vector<Counter> counters = thread_counters();
  ASSERT_FALSE(counters.empty());
  EXPECT_EQ(counters.front().name.rfind("thread.", 0), 0U) << counters.front().name;
  EXPECT_GE(counters.front().count, 1U);
}

}  // namespace
}  // namespace muster::agent
