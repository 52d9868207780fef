// Goal: an agent answers its own user, root and members. Method: a table of those that ask, and of
// what they hear.

#include "agent/front/asker.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::agent {
namespace {

TEST(Asker, IsAnsweredWhenHeIsAMemberOrTheAgentsUserOrRoot) {
  using Kind = gossip::Sender::Kind;
  const Login ann{1000, "ann"};
  const Login nameless{1001, ""};
  const Login root{0, "root"};
  struct Case {
    gossip::Sender sender;
    Login own;
    std::string why;
  };
  const std::vector<Case> cases = {
      {{Kind::kHost}, ann, ""},
      {{Kind::kHost, {}, {}, 7}, root, ""},
      {{Kind::kLogin, {}, {}, 1000}, ann, ""},
      {{Kind::kLogin, {}, {}, 0}, ann, ""},
      {{Kind::kLogin, {}, {}, 0}, root, ""},
      {{Kind::kLogin, {}, {}, 1001},
       ann,
       "this agent answers only the user it runs as, ann (uid 1000), and root, not uid 1001: run "
       "this as one of them"},
      {{Kind::kLogin, {}, {}, 1000},
       nameless,
       "this agent answers only the user it runs as, uid 1001, and root, not uid 1000: run this as "
       "one of them"},
      {{Kind::kLogin, {}, {}, 1000},
       root,
       "this agent answers only root, not uid 1000: run this as root"},
      {{Kind::kNobody, {}, {}, 1000},
       ann,
       "this port answers only hosts: run the command on a host, whose agent answers the user it "
       "runs as, ann (uid 1000), and root"},
      {{},
       root,
       "this port answers only hosts: run the command on a host, whose agent answers root"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(why_denied(each.sender, each.own), each.why);
  }
}

TEST(Asker, ALoginHasTheNameThatItsUidHas) {
  EXPECT_EQ(name_of_login(1000, {1000, "ann"}), "ann");
  EXPECT_EQ(name_of_login(0, {1000, "ann"}), "root");
  EXPECT_EQ(name_of_login(0, {0, "toor"}), "toor");
  EXPECT_EQ(name_of_login(1001, {1000, "ann"}), "");
}

}  // namespace
}  // namespace muster::agent
