// muster token, and verbs that ask with one: the secret leaves this process in the answer and in
// Request::access alone.

#include <gtest/gtest.h>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/users.h"
#include "scheduler/access/access_token.h"
#include "tests/cli/kit/fake_world.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;
using agent::TokenInfo;
using scheduler::AccessTokenId;

agent::VersionInfo node_of_a_cluster() {
  agent::VersionInfo info;
  info.host_name = "a";
  info.cluster = ClusterId::from_bytes("cluster_________");
  return info;
}

std::string line_of_a_token() {
  return to_line(scheduler::AccessToken{ClusterId::from_bytes("cluster_________"),
                                        AccessTokenId::from_bytes("token___________"),
                                        std::string(scheduler::kAccessSecretBytes, 's')});
}

TokenInfo token_of(const std::string& bytes, const std::string& label) {
  return {AccessTokenId::from_bytes(bytes), "ann", label, true, false, "", 7'200'000};
}

TEST(Token, IsOneLineOnStdoutAndTheClusterHearsAHash) {
  FakeWorld world;
  world.answers_in_turn({answer_with(node_of_a_cluster()), agent::Response()});
  EXPECT_EQ(world.output_of({"token", "create", "--for", "ci", "--may", "submit,read", "--team",
                             "nlp", "--ttl", "7d"}),
            "line of the token\n");
  ASSERT_EQ(world.requests().size(), 2U);
  const agent::Request& request = world.requests()[1];
  EXPECT_EQ(request.verb, agent::Verb::kMakeToken);
  EXPECT_EQ(encode(request).find("line of"), std::string::npos);
  const auto asked = agent::decode_payload<agent::TokenArgs>(request.arguments);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->hash, "hash");
  EXPECT_EQ(asked->label, "ci");
  EXPECT_EQ(asked->team, "nlp");
  EXPECT_TRUE(asked->may_read);
  EXPECT_TRUE(asked->may_submit);
  EXPECT_EQ(asked->ttl_ms, 7U * 24 * 3'600'000);
  EXPECT_EQ(world.err().find("line of"), std::string::npos);
  EXPECT_NE(world.err().find("muster token revoke"), std::string::npos) << world.err();
}

TEST(Token, IsMadeOnlyWithANameAndRightsAndWhereOthersDoNotRead) {
  const std::vector<std::vector<std::string>> kWrong = {
      {"token", "create", "--may", "read"},
      {"token", "create", "--for", "ci"},
      {"token", "create", "--for", "ci", "--may", "read,admin"},
      {"token", "create", "--for", "ci", "--may", ""},
  };
  for (const auto& args : kWrong) {
    FakeWorld world;
    EXPECT_EQ(world.run(args), 2) << world.err();
    EXPECT_TRUE(world.requests().empty());
  }
  FakeWorld world;
  world.open_to_others = {"stdout"};
  EXPECT_EQ(world.run({"token", "create", "--for", "ci", "--may", "read"}), 2);
  EXPECT_NE(world.err().find("ask in your name"), std::string::npos) << world.err();
  EXPECT_TRUE(world.requests().empty());
}

TEST(Token, ListAsksForPagesAndShowsRights) {
  FakeWorld world;
  const agent::TokenList first{{token_of("a_______________", "ci")}, true};
  const agent::TokenList second{{token_of("b_______________", "nightly")}, false};
  world.answers_in_turn({answer_with(first), answer_with(second)});
  const std::string out = world.output_of({"token", "list"});
  EXPECT_NE(out.find("615f5f5f  ci"), std::string::npos) << out;
  EXPECT_NE(out.find("nightly"), std::string::npos) << out;
  const auto asked = agent::decode_payload<agent::TokensQuery>(world.requests()[1].arguments);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->after, first.tokens[0].id);
  EXPECT_FALSE(asked->is_all);
}

TEST(Token, RevokeNamesOneToken) {
  FakeWorld world;
  const agent::TokenList list{
      {token_of("a_______________", "ci"), token_of("ab______________", "nightly")}, false};
  world.answers(answer_with(list));
  EXPECT_EQ(world.run({"token", "revoke", "61"}), 6) << "two begin so";
  EXPECT_EQ(world.run({"token", "revoke", "62"}), 6);
  EXPECT_EQ(world.output_of({"token", "revoke", "6162"}),
            "access token 61625f5f (nightly) is revoked\n");
  const auto ended = agent::decode_payload<agent::TokenRef>(world.requests().back().arguments);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->id, list.tokens[1].id);
}

TEST(Token, ALineInPlaceOfANameIsNotShown) {
  FakeWorld world;
  EXPECT_EQ(world.run({"token", "revoke", line_of_a_token()}), 2);
  EXPECT_TRUE(world.requests().empty());
  EXPECT_EQ(world.err().find(line_of_a_token()), std::string::npos) << world.err();
}

TEST(Token, EveryQuestionShowsTheOneOfTheEnvironmentOrTheFile) {
  FakeWorld world;
  world.answers(answer_with(agent::JobList()));
  EXPECT_EQ(world.run({"jobs"}), 0);
  world.environment["MUSTER_ACCESS"] = line_of_a_token();
  EXPECT_EQ(world.run({"jobs"}), 0);
  world.environment["MUSTER_ACCESS"] = "";
  world.written["/home/ann/token"] = line_of_a_token() + "\n";
  EXPECT_EQ(world.run({"jobs", "--access-file", "/home/ann/token"}), 0);
  ASSERT_EQ(world.requests().size(), 3U);
  EXPECT_EQ(world.requests()[0].access, "");
  EXPECT_EQ(world.requests()[1].access, line_of_a_token());
  EXPECT_EQ(world.requests()[2].access, line_of_a_token() + "\n");
}

TEST(Token, ABadLineIsRefusedHereAndNotRepeated) {
  const std::string line = line_of_a_token();
  for (const std::string& bad :
       {line.substr(0, line.size() - 2), std::string(5'000, 'x'), std::string("hunter2")}) {
    FakeWorld world;
    world.environment["MUSTER_ACCESS"] = bad;
    EXPECT_EQ(world.run({"jobs"}), 4);
    EXPECT_TRUE(world.requests().empty());
    EXPECT_EQ((world.out() + world.err()).find(bad), std::string::npos);
    EXPECT_NE(world.err().find("MUSTER_ACCESS: "), std::string::npos) << world.err();
  }
  FakeWorld world;
  world.open_to_others = {"/tmp/token"};
  EXPECT_EQ(world.run({"jobs", "--access-file", "/tmp/token"}), 4);
  EXPECT_TRUE(world.requests().empty());
}

TEST(Token, NoJobGetsItInItsEnvironment) {
  FakeWorld world;
  world.environment["MUSTER_ACCESS"] = line_of_a_token();
  world.environment["OTHER"] = "x";
  world.answers(answer_with(agent::JobRef{JobId(1)}));
  EXPECT_EQ(world.run({"submit", "--env-all", "--gpus", "1", "--", "true"}), 0) << world.err();
  const std::string& sent = world.requests().back().arguments;
  EXPECT_NE(sent.find("OTHER=x"), std::string::npos);
  EXPECT_EQ(sent.find(line_of_a_token()), std::string::npos);
  EXPECT_EQ(world.run({"submit", "--env", "MUSTER_ACCESS", "--gpus", "1", "--", "true"}), 2);
  EXPECT_NE(world.err().find("is a secret"), std::string::npos) << world.err();
}

TEST(Token, WhoamiNamesItAsTheProof) {
  FakeWorld world;
  agent::WhoamiInfo info;
  info.user = "ann";
  info.host_name = "a";
  info.is_vouched = true;
  info.is_known = true;
  info.role = "user";
  info.teams = {"default"};
  info.token = token_of("a_______________", "ci");
  world.answers(answer_with(info));
  const std::string out = world.output_of({"whoami"});
  EXPECT_NE(out.find("proof     access token ci (615f5f5f), which may read and expires in 2h"),
            std::string::npos)
      << out;
}

}  // namespace
}  // namespace muster::cli
