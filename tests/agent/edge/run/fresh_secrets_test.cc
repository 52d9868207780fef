// Secrets that this process draws: their lines are read by those who read lines of people.

#include "agent/edge/run/fresh_secrets.h"

#include <gtest/gtest.h>

#include <string>

#include "agent/edge/disk/host_key.h"
#include "gossip/edge/link_keys.h"
#include "gossip/edge/ticket_line.h"
#include "scheduler/access/access_token.h"

namespace muster::agent {
namespace {

TEST(FreshSecrets, SubmitKeysAre32HexDigitsAndDiffer) {
  const std::string key = fresh_submit_key();
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos) << key;
  EXPECT_NE(key, fresh_submit_key());
}

TEST(FreshSecrets, TheLineOfAnAccessTokenIsOfItsHash) {
  const ClusterId cluster = ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'c'));
  const FreshAccess fresh = fresh_access(cluster);
  const auto token = scheduler::access_token_of(fresh.line, cluster);
  ASSERT_TRUE(token) << token.error().text;
  EXPECT_EQ(token->id, fresh.id);
  EXPECT_TRUE(is_token_of(*token, fresh.hash, HostKeyVerifier()));
}

TEST(FreshSecrets, TheLineOfATicketHasItsSecretAndTheFirstMembers) {
  const FreshTicket fresh = fresh_ticket();
  EXPECT_EQ(gossip::LinkKeys::from_seed(fresh.secret).public_key, fresh.key);
  TicketMade made{"authority", {}};
  EXPECT_FALSE(ticket_line(fresh.secret, made));
  for (int host = 1; host <= 5; ++host) {
    Contact contact;
    contact.address = "10.0.0." + std::to_string(host);
    contact.link_key = "link" + std::to_string(host);
    made.contacts.push_back(contact);
  }
  const auto line = ticket_line(fresh.secret, made);
  ASSERT_TRUE(line) << line.error().text;
  const auto ticket = gossip::ticket_in(*line);
  ASSERT_TRUE(ticket) << ticket.error().text;
  EXPECT_EQ(ticket->secret, fresh.secret);
  EXPECT_EQ(ticket->authority, "authority");
  ASSERT_EQ(ticket->doors.size(), gossip::kTicketDoorsMax);
  EXPECT_EQ(ticket->doors[0].at.text(), "10.0.0.1:7450");
  EXPECT_EQ(ticket->doors[0].link_key, "link1");
}

}  // namespace
}  // namespace muster::agent
