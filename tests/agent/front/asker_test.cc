// Goal: an agent answers its own user, root and members; an agent of root every login. Method: a
// table of those that ask, and of what they hear.

#include "agent/front/asker.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::agent {
namespace {

TEST(Asker, AMemberRootAndTheAgentsUserAreAnsweredAndByRootsAgentAll) {
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
      {{Kind::kLogin, {}, {}, 1000, "ben"}, root, ""},
      {{Kind::kLogin, {}, {}, 1000},
       root,
       "uid 1000 has no login name on this host, or it was not found in time: check `getent passwd "
       "1000`"},
      {{Kind::kLogin, {}, {}, 1001, "ben"},
       ann,
       "this agent answers only the user it runs as, ann (uid 1000), and root, not uid 1001: run "
       "this as one of them"},
      {{Kind::kNobody, {}, {}, 1000},
       ann,
       "this port answers only hosts: run the command on a host, whose agent answers the user it "
       "runs as, ann (uid 1000), and root"},
      {{},
       root,
       "this port answers only hosts: run the command on a host, whose agent answers every login"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(why_denied(each.sender, each.own), each.why);
  }
}

TEST(Asker, WithoutAClusterAGuestHearsTheVersionAlone) {
  using Kind = gossip::Sender::Kind;
  const Login ann{1000, "ann"};
  const Login root{0, "root"};
  const gossip::Sender ben{Kind::kLogin, {}, {}, 1001};
  EXPECT_EQ(why_denied_without_cluster(ben, root, true), "") << "even without a name";
  EXPECT_NE(why_denied_without_cluster(ben, root, false).find("only root"), std::string::npos);
  EXPECT_NE(why_denied_without_cluster(ben, ann, true), "");
  for (const Login& own : {ann, root}) {
    EXPECT_EQ(why_denied_without_cluster({Kind::kLogin, {}, {}, 0}, own, false), "");
    EXPECT_EQ(why_denied_without_cluster({Kind::kLogin, {}, {}, own.uid}, own, false), "");
    EXPECT_NE(why_denied_without_cluster({}, own, true), "");
  }
}

TEST(Asker, RootAndTheAgentsUserOwnTheHostAndOtherLoginsAreGuests) {
  using Kind = gossip::Sender::Kind;
  const Login ann{1000, "ann"};
  for (const std::uint32_t uid : {0U, 1000U, 1001U}) {
    EXPECT_EQ(owns_host({Kind::kLogin, {}, {}, uid}, ann), uid != 1001);
    EXPECT_EQ(is_guest({Kind::kLogin, {}, {}, uid}, ann), uid == 1001);
    EXPECT_FALSE(owns_host({Kind::kHost, {}, {}, uid}, ann));
    EXPECT_FALSE(is_guest({Kind::kHost, {}, {}, uid}, ann));
  }
}

TEST(Asker, ALoginHasTheNameThatItsUidHas) {
  const auto name = [](std::uint32_t uid, const std::string& found, const Login& own) {
    return name_of_login({gossip::Sender::Kind::kLogin, {}, {}, uid, found}, own);
  };
  EXPECT_EQ(name(1000, "", {1000, "ann"}), "ann");
  EXPECT_EQ(name(1000, "root", {1000, "ann"}), "ann");
  EXPECT_EQ(name(0, "", {1000, "ann"}), "root");
  EXPECT_EQ(name(0, "", {0, "toor"}), "toor");
  EXPECT_EQ(name(1001, "", {1000, "ann"}), "");
  EXPECT_EQ(name(1001, "ben", {0, "root"}), "ben");
}

}  // namespace
}  // namespace muster::agent
