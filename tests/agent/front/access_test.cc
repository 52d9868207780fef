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
const Speaker kRoot{kSpeaker, true};
const Speaker kGuest{kSpeaker, false};

Request about(Verb verb, HostId target = HostId(), std::string arguments = "") {
  Request request;
  request.verb = verb;
  request.target = target;
  request.arguments = std::move(arguments);
  return request;
}

TEST(Access, WhoTheHostsAndVotersAreIsForAll) {
  const std::set<Verb> open = {Verb::kVersion,  Verb::kHosts,  Verb::kQuorum,  Verb::kWhyHost,
                               Verb::kHostUses, Verb::kKeys,   Verb::kFound,   Verb::kEnter,
                               Verb::kJoin,     Verb::kWhoami, Verb::kCertify, Verb::kHttpRoot};
  for (std::size_t number = 0; number < kByteValues; ++number) {
    const auto verb = static_cast<Verb>(number);
    EXPECT_EQ(is_open_to_all(about(verb), kGuest, kAsked), open.contains(verb)) << number;
  }
}

TEST(Access, AHostAnswersItsLoginAboutItself) {
  const std::string look = encode_payload(RecoverArgs());
  for (const Verb verb : {Verb::kEvents, Verb::kStats, Verb::kLeave, Verb::kRecover}) {
    EXPECT_TRUE(is_open_to_all(about(verb, HostId(), look), kRoot, kSpeaker));
    EXPECT_TRUE(is_open_to_all(about(verb, kSpeaker, look), kRoot, kSpeaker));
    EXPECT_FALSE(is_open_to_all(about(verb, kAsked, look), kRoot, kSpeaker)) << "another's";
    Request named = about(verb, HostId(), look);
    named.node = "asked";
    EXPECT_FALSE(is_open_to_all(named, kRoot, kSpeaker)) << "by its name";
    EXPECT_FALSE(is_open_to_all(about(verb, HostId(), look), kRoot, kAsked)) << "passed on";
    EXPECT_FALSE(is_open_to_all(about(verb, kSpeaker, look), kRoot, kAsked))
        << "passed on, and meant for whom it comes from: who gets it may look at itself";
  }
  const auto detail = [](HostId host) {
    return about(Verb::kHostDetail, HostId(), encode_payload(HostRef{host}));
  };
  EXPECT_TRUE(is_open_to_all(detail(kSpeaker), kRoot, kAsked));
  EXPECT_FALSE(is_open_to_all(detail(kAsked), kRoot, kSpeaker));
  EXPECT_FALSE(is_open_to_all(about(Verb::kHostDetail, HostId(), "garbage"), kRoot, kSpeaker));
}

TEST(Access, AGuestLooksAtItsHostAndDoesNotChangeIt) {
  const std::string look = encode_payload(RecoverArgs());
  for (const Verb verb : {Verb::kEvents, Verb::kStats}) {
    EXPECT_TRUE(is_open_to_all(about(verb), kGuest, kSpeaker));
  }
  for (const Verb verb : {Verb::kLeave, Verb::kRecover}) {
    EXPECT_FALSE(is_open_to_all(about(verb, HostId(), look), kGuest, kSpeaker));
  }
}

TEST(Access, ANewQuorumIsAnOrderForEverybody) {
  RecoverArgs order;
  order.is_order = true;
  EXPECT_FALSE(
      is_open_to_all(about(Verb::kRecover, HostId(), encode_payload(order)), kRoot, kSpeaker));
}

}  // namespace
}  // namespace muster::agent
