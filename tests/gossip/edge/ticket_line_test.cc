// Tests of TicketLine: a line is read as a whole or refused.

#include "gossip/edge/ticket_line.h"

#include <gtest/gtest.h>

namespace muster::gossip {
namespace {

TicketLine sample() {
  TicketLine ticket;
  ticket.doors.push_back({Endpoint::ipv4(10, 0, 0, 1, 7450), std::string(32, 'a')});
  ticket.doors.push_back({Endpoint::ipv4(10, 0, 0, 2, 7450), std::string(32, 'b')});
  ticket.authority = std::string(32, 'c');
  ticket.secret = std::string(32, '\0');
  return ticket;
}

TEST(TicketLine, ComesBackAsItWas) {
  const std::string line = to_line(sample());
  EXPECT_EQ(line.find_first_of(" \n\t+/="), std::string::npos) << line;
  EXPECT_LT(line.size(), 300U);
  const auto back = ticket_in("  " + line + "\n");
  ASSERT_TRUE(back.has_value()) << back.error().text;
  EXPECT_EQ(*back, sample());
}

TEST(TicketLine, CutOffAnywhereOrMistypedItIsRefused) {
  const std::string line = to_line(sample());
  for (std::size_t size = 0; size < line.size(); ++size) {
    EXPECT_FALSE(ticket_in(line.substr(0, size)).has_value()) << size;
  }
  for (std::size_t at = 8; at < line.size(); ++at) {
    std::string wrong = line;
    wrong[at] = wrong[at] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(ticket_in(wrong).has_value()) << at;
  }
  EXPECT_FALSE(ticket_in(line + "A").has_value());
  EXPECT_FALSE(ticket_in(line + line).has_value());
  EXPECT_FALSE(ticket_in(std::string(10'000, 'm')).has_value());
}

TEST(TicketLine, WithoutAnAddressItIsNone) {
  TicketLine ticket = sample();
  ticket.doors.clear();
  EXPECT_FALSE(ticket_in(to_line(ticket)).has_value());
}

TEST(TicketLine, SaysWhatIsWrong) {
  EXPECT_NE(ticket_in("muster2.abc").error().text.find("version"), std::string::npos);
  EXPECT_NE(ticket_in("hello").error().text.find("is not a ticket"), std::string::npos);
  EXPECT_NE(ticket_in("muster1.abc").error().text.find("cut off or mistyped"), std::string::npos);
}

}  // namespace
}  // namespace muster::gossip
