// Goal: through a host that may not vouch a login hears of hosts and voters, and of its own host.
// Method: a table over all verbs.

#include "agent/front/access.h"

#include <gtest/gtest.h>

#include <set>

#include "agent/api/verbs.h"

namespace muster::agent {
namespace {

const HostId kSpeaker = HostId::from_bytes("speaker_________");
const HostId kAsked = HostId::from_bytes("asked___________");

Request about(Verb verb, HostId target = HostId(), std::string arguments = "") {
  Request request;
  request.verb = verb;
  request.target = target;
  request.arguments = std::move(arguments);
  return request;
}

TEST(Access, WhoTheHostsAndVotersAreIsForAll) {
  const std::set<Verb> open = {Verb::kVersion,  Verb::kHosts, Verb::kQuorum, Verb::kWhyHost,
                               Verb::kHostUses, Verb::kKeys,  Verb::kFound,  Verb::kEnter,
                               Verb::kJoin,     Verb::kWhoami};
  for (std::size_t number = 0; number < kByteValues; ++number) {
    const auto verb = static_cast<Verb>(number);
    EXPECT_EQ(is_open_to_all(about(verb), kSpeaker, kAsked), open.contains(verb)) << number;
  }
}

TEST(Access, AHostAnswersItsLoginAboutItself) {
  const std::string look = encode_payload(RecoverArgs());
  for (const Verb verb : {Verb::kEvents, Verb::kStats, Verb::kLeave, Verb::kRecover}) {
    EXPECT_TRUE(is_open_to_all(about(verb, HostId(), look), kSpeaker, kSpeaker));
    EXPECT_TRUE(is_open_to_all(about(verb, kSpeaker, look), kSpeaker, kSpeaker));
    EXPECT_FALSE(is_open_to_all(about(verb, kAsked, look), kSpeaker, kSpeaker)) << "another's";
    Request named = about(verb, HostId(), look);
    named.node = "asked";
    EXPECT_FALSE(is_open_to_all(named, kSpeaker, kSpeaker)) << "by its name";
    EXPECT_FALSE(is_open_to_all(about(verb, HostId(), look), kSpeaker, kAsked)) << "passed on";
    EXPECT_FALSE(is_open_to_all(about(verb, kSpeaker, look), kSpeaker, kAsked))
        << "passed on, and meant for whom it comes from: who gets it may look at itself";
  }
  const auto detail = [](HostId host) {
    return about(Verb::kHostDetail, HostId(), encode_payload(HostRef{host}));
  };
  EXPECT_TRUE(is_open_to_all(detail(kSpeaker), kSpeaker, kAsked));
  EXPECT_FALSE(is_open_to_all(detail(kAsked), kSpeaker, kSpeaker));
  EXPECT_FALSE(is_open_to_all(about(Verb::kHostDetail, HostId(), "garbage"), kSpeaker, kSpeaker));
}

TEST(Access, ANewQuorumIsAnOrderForEverybody) {
  RecoverArgs order;
  order.is_order = true;
  EXPECT_FALSE(
      is_open_to_all(about(Verb::kRecover, HostId(), encode_payload(order)), kSpeaker, kSpeaker));
}

}  // namespace
}  // namespace muster::agent
