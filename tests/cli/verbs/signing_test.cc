// Goal: an order that has to be signed is signed by itself, for the user and the cluster that the
// host of the login names, and sent again. Method: a leader that verifies as voters do, and a
// person with a key.

#include <gtest/gtest.h>

#include "agent/api/enrolment.h"
#include "agent/api/users.h"
#include "agent/edge/disk/host_key.h"
#include "scheduler/access/intent.h"
#include "tests/cli/kit/fake_world.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;
using agent::Verb;

constexpr char kOwnSeed = 'k';

gossip::SshKeyLine line_of(char seed) {
  const agent::HostKey key = agent::HostKey::from_seed(std::string(32, seed));
  return {{gossip::SshKeyType::kEd25519, std::string(key.public_key()), ""}, "ann@home"};
}

ClusterId some_cluster() {
  return ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'c'));
}

/// Answers as a leader that knows ann and her keys does.
class SigningTest : public ::testing::Test {
 protected:
  SigningTest() {
    world.answers([this](const agent::Request& request) { return answer(request); });
    world.world().files.keys.sign = [this](const SignWish& wish) { return sign(wish); };
  }

  /// The person signs with the key of `key_seed`, if it counts.
  Result<gossip::SshSignature> sign(const SignWish& wish) {
    signatures_asked.push_back(wish);
    const agent::HostKey key = agent::HostKey::from_seed(std::string(32, key_seed));
    for (const SignWish::Choice& choice : wish.choices) {
      if (choice.key.point == key.public_key()) {
        return gossip::sign_ssh(key, wish.name_space, choice.message, agent::HostKeyVerifier());
      }
    }
    return Error{ErrorCode::kNotFound, "no key of yours counts"};
  }

  Result<agent::Response> answer(const agent::Request& request) {
    if (request.verb == Verb::kWhoami) {
      agent::WhoamiInfo info;
      info.user = "ann";
      info.cluster = some_cluster();
      return answer_with(info);
    }
    if (request.verb == Verb::kUsers) {
      agent::UserList list;
      list.users = {{"eve", "user", {}, {{to_line(line_of('e')), "SHA256:eve", 5}}}};
      return answer_with(list);
    }
    if (request.verb != Verb::kChangeUsers && request.verb != Verb::kMakeTicket) {
      return agent::Response();
    }
    if (!request.signature.has_value()) {
      return wants(ResponseStatus::kDenied, "only a signed order may do that");
    }
    const auto signature = gossip::ssh_signature_of_blob(request.signature->blob);
    const scheduler::Intent intent{some_cluster(), "ann", request.signature->number,
                                   words(request)};
    EXPECT_TRUE(signature && verify(*signature, line_of(kOwnSeed).key, scheduler::kIntentNamespace,
                                    message_of(intent), agent::HostKeyVerifier()));
    if (request.signature->number != next) {
      return wants(ResponseStatus::kConflict, std::string(scheduler::kSignAgain));
    }
    ++done;
    if (others > 0) {
      --others;
      ++next;
      --done;
      return wants(ResponseStatus::kConflict, std::string(scheduler::kSignAgain));
    }
    return answer_with(agent::TicketMade());
  }

  static std::string words(const agent::Request& request) {
    if (request.verb == Verb::kChangeUsers) {
      return words_of(
          agent::decode_payload<agent::DirectoryArgs>(request.arguments).value().change);
    }
    const auto args = agent::decode_payload<agent::TicketArgs>(request.arguments).value();
    scheduler::entry::MakeTicket ticket;
    ticket.key = args.key;
    ticket.uses = args.uses;
    ticket.ttl = std::chrono::milliseconds(args.ttl_ms);
    ticket.may_vote = args.may_vote;
    ticket.may_vouch = args.may_vouch;
    ticket.host_name = args.host_name;
    return scheduler::words_of(ticket);
  }

  agent::Response wants(ResponseStatus status, const std::string& text) const {
    agent::Response response = refusal(status, text);
    agent::SignatureWanted wanted;
    if (has_key) {
      wanted.keys = {{to_line(line_of('o')), "", 3}, {to_line(line_of(kOwnSeed)), "", next}};
    }
    response.payload = agent::encode_payload(wanted);
    return response;
  }

  FakeWorld world;
  std::uint64_t next = 17;
  int others = 0;  ///< Orders of the same key that come first.
  int done = 0;
  bool has_key = true;
  char key_seed = kOwnSeed;
  std::vector<SignWish> signatures_asked;
};

TEST_F(SigningTest, AnOrderIsSignedWhenTheNodeWantsIt) {
  EXPECT_EQ(world.output_of({"user", "add", "bob", "--role", "admin"}), "user bob: role admin\n");
  EXPECT_EQ(done, 1);
  ASSERT_EQ(signatures_asked.size(), 1U);
  EXPECT_EQ(signatures_asked[0].default_file, "/home/ann/.config/muster/admin_key");
  EXPECT_EQ(signatures_asked[0].sign_with, "");
}

TEST_F(SigningTest, ATicketWithRightsIsSigned) {
  EXPECT_EQ(world.run({"ticket", "--may-vouch", "--uses", "2", "--host", "gpu7"}), 0);
  EXPECT_EQ(done, 1);
}

TEST_F(SigningTest, ItIsSignedAgainWhenAnotherOrderCameFirstAndGivenUpAtLast) {
  others = 2;
  EXPECT_EQ(world.run({"team", "add", "nlp"}), 0) << world.err();
  EXPECT_EQ(signatures_asked.size(), 3U);
  others = 3;
  EXPECT_EQ(world.run({"team", "add", "speech"}), 7);
  EXPECT_EQ(signatures_asked.size(), 6U);
  EXPECT_EQ(done, 1);
}

TEST_F(SigningTest, WithoutAKeyThatCountsNothingIsSentAndTheReasonIsTold) {
  key_seed = 'x';
  EXPECT_EQ(world.run({"access", "set", "jobs=team", "--sign-with", "agent"}), 4);
  EXPECT_NE(world.err().find("no key of yours counts"), std::string::npos);
  EXPECT_EQ(signatures_asked.at(0).sign_with, "agent");
  EXPECT_EQ(done, 0);
}

TEST_F(SigningTest, AUserWithoutKeysHearsTheRefusal) {
  has_key = false;
  EXPECT_EQ(world.run({"access", "set", "jobs=team"}), 4);
  EXPECT_NE(world.err().find("only a signed order may do that"), std::string::npos);
  EXPECT_TRUE(signatures_asked.empty());
}

TEST_F(SigningTest, AddsKeysOfTypesThatAreAccepted) {
  EXPECT_EQ(world.output_of({"user", "add", "bob", "--key", to_line(line_of('b'))}),
            "user bob: gets a key\n");
  const std::string rsa = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7 bob";
  EXPECT_EQ(world.run({"user", "add", "bob", "--key", rsa}), 2);
  EXPECT_NE(world.err().find("ssh-rsa"), std::string::npos) << world.err();
}

TEST_F(SigningTest, RemovesAKeyByItsFingerprint) {
  EXPECT_EQ(world.output_of({"user", "set", "eve", "--remove-key", "SHA256:eve"}),
            "user eve: loses a key\n");
  EXPECT_EQ(world.run({"user", "set", "eve", "--remove-key", "SHA256:bob"}), 6);
}

}  // namespace
}  // namespace muster::cli
