// An agent without a cluster, asked over its own socket: it says who it is and how to get it into
// one, founds one or joins one, and refuses the rest.

#include "agent/edge/join/unjoined_agent.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/api/hosts.h"
#include "gossip/edge/secret_file.h"
#include "gossip/edge/zmq_client.h"
#include "tests/agent/edge/join/member.h"

namespace muster::agent {
namespace {

using testing::key_of;
using testing::Member;

constexpr Duration kPatience = std::chrono::seconds(10);
/// While the agent stands still, because the test has its thread.
constexpr Duration kLook = std::chrono::milliseconds(20);
/// Turns of the agent in one test: tests that pass need a few. While an answer is missing a turn is
/// at least kLook long.
constexpr int kTurnsMax = 100;

Request request_of(Verb verb, std::string arguments = "") {
  Request request;
  request.verb = verb;
  request.arguments = std::move(arguments);
  return request;
}

/// Agent and asker share one thread: the next question is sent in a turn of the agent.
class UnjoinedAgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/muster_unjoined_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    options_.ipc_path = directory_ + "/agent.sock";
    options_.name = "new";
    options_.control = gossip::Endpoint::ipv4(10, 0, 0, 7, 7450);
    options_.login = {geteuid(), ""};
    options_.stop_fd = stop_;
    options_.on_turn = [this] { on_turn(); };
  }
  void TearDown() override {
    std::filesystem::remove_all(directory_);
    close(stop_);
  }

  void ask(const Request& request) {
    say(testing::message_of(gossip::MessageType::kRequest, Nonce(10 + answers_wanted_),
                            encode(request)));
    ++answers_wanted_;
  }
  /// Another message than a request that will be answered.
  void say(std::string bytes) { to_say_.push_back(std::move(bytes)); }

  /// Runs the agent until all was said and answered, or it has become a member. Fails, and returns
  /// nothing, when answers are missing after kTurnsMax turns.
  std::optional<MembershipRecord> wait() {
    const auto result = wait_for_membership(key_, options_);
    EXPECT_TRUE(result.has_value()) << result.error().text;
    // The last answer may still be on its way.
    while (!is_given_up_ && client_.has_value() && answers_.size() < answers_wanted_ &&
           hear(kPatience)) {
    }
    EXPECT_EQ(answers_.size(), answers_wanted_);
    if (!result.has_value() || answers_.size() != answers_wanted_) {
      return std::nullopt;
    }
    return *result;
  }
  /// As wait(), and one was asked for nothing but this.
  Response answer_to(const Request& request) {
    ask(request);
    EXPECT_FALSE(wait().has_value());
    return answers_.at(0);
  }

  const HostKey key_ = key_of('n');
  UnjoinedOptions options_;
  std::string directory_;
  std::vector<Response> answers_;
  std::function<void()> before_turn_ = [] {};
  bool is_kept_waiting_ = false;  ///< Not stopped, though all was answered.

 private:
  void on_turn() {
    take_turn();
    ++turns_;
    if (turns_ > kTurnsMax) {
      ADD_FAILURE() << answers_.size() << " of " << answers_wanted_ << " answers, and no end, in "
                    << kTurnsMax << " turns";
    }
    is_given_up_ = turns_ > kTurnsMax || HasFatalFailure();
    const bool is_over = answers_.size() >= answers_wanted_ && !is_kept_waiting_;
    if (is_over || is_given_up_) {
      EXPECT_EQ(eventfd_write(stop_, 1), 0);
    }
  }
  void take_turn() {
    before_turn_();
    if (!client_.has_value()) {
      auto client = gossip::ZmqClient::connect("ipc://" + options_.ipc_path);
      ASSERT_TRUE(client.has_value()) << client.error().text;
      client_.emplace(std::move(client).value());
    }
    for (; said_ < to_say_.size(); ++said_) {
      ASSERT_TRUE(client_->send(to_say_[said_]).has_value());
    }
    while (answers_.size() < answers_wanted_ && hear(kLook)) {
    }
  }
  bool hear(Duration patience) {
    auto bytes = client_->receive(patience);
    if (!bytes || !bytes->has_value()) {
      return false;
    }
    const auto message = gossip::decode(**std::move(bytes));
    if (!message.has_value()) {
      ADD_FAILURE() << message.error().text;
      return false;
    }
    EXPECT_EQ(message->envelope().type, gossip::MessageType::kResponse);
    EXPECT_EQ(message->envelope().from, key_.host_id());
    EXPECT_EQ(message->envelope().nonce, Nonce(10 + answers_.size()));
    const auto response = decode_response(message->body());
    if (!response.has_value()) {
      ADD_FAILURE() << "an answer cannot be read";
      return false;
    }
    answers_.push_back(*response);
    return true;
  }

  const int stop_ = eventfd(0, EFD_CLOEXEC);
  std::optional<gossip::ZmqClient> client_;
  std::vector<std::string> to_say_;
  std::size_t said_ = 0;
  std::size_t answers_wanted_ = 0;
  int turns_ = 0;
  bool is_given_up_ = false;
};

bool says(const Response& response, const std::string& part) {
  return response.text.find(part) != std::string::npos;
}

TEST_F(UnjoinedAgentTest, SaysItsVersionAndWhoItIs) {
  const Response response = answer_to(request_of(Verb::kVersion));
  EXPECT_EQ(response.status, ResponseStatus::kOk);
  EXPECT_EQ(response.answered_by, "new");
  const auto version = decode_payload<VersionInfo>(response.payload);
  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(version->product, kProductVersion);
  EXPECT_EQ(version->protocol, kProtocolVersion);
  EXPECT_EQ(version->host_name, "new");
  EXPECT_EQ(version->host, key_.host_id());
  EXPECT_EQ(version->generation, Generation());
  EXPECT_TRUE(version->cluster.is_zero());
}

TEST_F(UnjoinedAgentTest, TellsAnAskerOfAClusterHowItWouldGetOne) {
  for (const Verb verb : {Verb::kHosts, Verb::kSubmit, Verb::kJoin, Verb::kStats}) {
    ask(request_of(verb));
  }
  EXPECT_FALSE(wait().has_value());
  for (const Response& response : answers_) {
    EXPECT_EQ(response.status, ResponseStatus::kNoQuorum);
    EXPECT_TRUE(says(response, "muster join")) << response.text;
    EXPECT_TRUE(says(response, "muster init")) << response.text;
  }
}

TEST_F(UnjoinedAgentTest, ToldInAnotherVersionItSaysSo) {
  gossip::Envelope envelope;
  envelope.type = gossip::MessageType::kRequest;
  envelope.nonce = Nonce(10);
  say(gossip::encode(envelope, gossip::Encoder().array(1).text("a verb to come").take()));
  ask(request_of(Verb::kVersion));
  EXPECT_FALSE(wait().has_value());
  EXPECT_EQ(answers_.at(0).status, ResponseStatus::kUsage);
  EXPECT_TRUE(says(answers_.at(0), "does not know that request")) << answers_.at(0).text;
}

TEST_F(UnjoinedAgentTest, AnswersRequestsAlone) {
  say("no message");
  say(testing::response_to(Nonce(99), Response()));
  EXPECT_EQ(answer_to(request_of(Verb::kVersion)).status, ResponseStatus::kOk);
}

TEST_F(UnjoinedAgentTest, ArgumentsThatItCannotReadAreRefusedByTheNameOfTheVerb) {
  ask(request_of(Verb::kFound));
  ask(request_of(Verb::kEnter, "no ticket"));
  EXPECT_FALSE(wait().has_value());
  EXPECT_EQ(answers_.at(0).status, ResponseStatus::kUsage);
  EXPECT_TRUE(says(answers_.at(0), "'found'")) << answers_.at(0).text;
  EXPECT_EQ(answers_.at(1).status, ResponseStatus::kUsage);
  EXPECT_TRUE(says(answers_.at(1), "'enter'")) << answers_.at(1).text;
}

/// The record that a founder writes and the ticket that it tells belong together.
void expect_founded(const MembershipRecord& record, const Response& response, const HostKey& key) {
  EXPECT_TRUE(record.cluster.is_zero());
  ASSERT_EQ(record.authority_seed.size(), HostKey::kSeedBytes);
  EXPECT_EQ(record.authority, HostKey::from_seed(record.authority_seed).public_key());
  EXPECT_NE(record.authority_seed, record.link_seed);
  const crdt::Field field{{Generation(record.own.authority), Sequence(record.own.edition)},
                          record.own.record,
                          record.own.signature};
  const auto proven = crdt::proven_roll(key.host_id(), field, record.authority, HostKeyVerifier());
  ASSERT_TRUE(proven.has_value());
  crdt::RollRecord expected;
  expected.identity_key = std::string(key.public_key());
  expected.link_key = gossip::LinkKeys::from_seed(record.link_seed).public_key;
  expected.founders = record.founders;
  expected.may_vote = true;
  expected.may_vouch = true;
  EXPECT_EQ(*proven, expected);
  EXPECT_EQ(record.own.host, key.host_id());
  EXPECT_EQ(record.own.link_key, expected.link_key);
  EXPECT_EQ(record.own.address, "");

  EXPECT_EQ(response.status, ResponseStatus::kOk) << response.text;
  EXPECT_EQ(response.answered_by, "new");
  const auto made = decode_payload<TicketMade>(response.payload);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->authority, record.authority);
  Contact here = record.own;
  here.address = "10.0.0.7:7450";
  EXPECT_EQ(made->contacts, std::vector{here});
}

TEST_F(UnjoinedAgentTest, OneHostFoundsAClusterByItself) {
  options_.control.port = 7450;
  ask(request_of(Verb::kFound, encode_payload(FoundArgs{1, ""})));
  const auto record = wait();
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->founders, 1U);
  EXPECT_EQ(record->founding_ticket, "");
  expect_founded(*record, answers_.at(0), key_);
}

TEST_F(UnjoinedAgentTest, SeveralFoundAClusterWithTheTicketOfTheOthers) {
  ask(request_of(Verb::kFound, encode_payload(FoundArgs{5, "key of the ticket"})));
  const auto record = wait();
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->founders, 5U);
  EXPECT_EQ(record->founding_ticket, "key of the ticket");
  expect_founded(*record, answers_.at(0), key_);
}

TEST_F(UnjoinedAgentTest, OtherNumbersOfFoundersAreRefused) {
  for (const FoundArgs& args : {FoundArgs{0, "key"}, FoundArgs{2, "key"}, FoundArgs{4, "key"},
                                FoundArgs{7, "key"}, FoundArgs{3, ""}}) {
    ask(request_of(Verb::kFound, encode_payload(args)));
  }
  EXPECT_FALSE(wait().has_value());
  for (const Response& response : answers_) {
    EXPECT_EQ(response.status, ResponseStatus::kUsage);
    EXPECT_TRUE(says(response, "1, 3 or 5")) << response.text;
  }
}

TEST_F(UnjoinedAgentTest, SeveralFoundNoneWhereTheOthersCannotCome) {
  options_.control.port = 0;
  const Response response =
      answer_to(request_of(Verb::kFound, encode_payload(FoundArgs{3, "key"})));
  EXPECT_EQ(response.status, ResponseStatus::kUsage);
  EXPECT_TRUE(says(response, "--listen")) << response.text;
}

TEST_F(UnjoinedAgentTest, ATicketThatIsNoneLeavesItWaiting) {
  ask(request_of(Verb::kEnter, encode_payload(EnterArgs{"muster1.cut off"})));
  ask(request_of(Verb::kVersion));
  EXPECT_FALSE(wait().has_value());
  EXPECT_EQ(answers_.at(0).status, ResponseStatus::kUsage);
  EXPECT_TRUE(says(answers_.at(0), "mistyped")) << answers_.at(0).text;
  EXPECT_EQ(answers_.at(1).status, ResponseStatus::kOk);
}

TEST_F(UnjoinedAgentTest, ARefusalByAMemberIsPassedOn) {
  Member member([](const JoinArgs&, Nonce nonce) {
    return testing::Answers{testing::refusal_of(nonce, ResponseStatus::kDenied, "used up")};
  });
  const EnterArgs enter{testing::ticket_to({&member}, key_of('a'))};
  const Response response = answer_to(request_of(Verb::kEnter, encode_payload(enter)));
  EXPECT_EQ(response.status, ResponseStatus::kConflict);
  EXPECT_TRUE(says(response, "used up")) << response.text;
}

TEST_F(UnjoinedAgentTest, ATicketMakesItAMember) {
  Member member(testing::lets_in(key_of('a')));
  const EnterArgs enter{testing::ticket_to({&member}, key_of('a'))};
  ask(request_of(Verb::kEnter, encode_payload(enter)));
  const auto record = wait();
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->authority, key_of('a').public_key());
  EXPECT_EQ(record->founders, 0U);
  EXPECT_EQ(answers_.at(0).status, ResponseStatus::kOk);
  EXPECT_EQ(answers_.at(0).answered_by, "new");
  ASSERT_FALSE(member.end().empty());
  EXPECT_EQ(member.end()[0].name, "new");
}

TEST_F(UnjoinedAgentTest, ATicketInAFileIsTakenOnceTheFileIsThere) {
  Member member(testing::lets_in(key_of('a')));
  options_.ticket_path = directory_ + "/ticket";
  is_kept_waiting_ = true;
  int turn = 0;
  before_turn_ = [&] {
    const std::string line = testing::ticket_to({&member}, key_of('a'));
    if (turn == 1 || turn == 2) {
      EXPECT_TRUE(gossip::write_secret(options_.ticket_path, turn == 1 ? " \n" : line).has_value());
    }
    ++turn;
  };
  ask(request_of(Verb::kVersion));
  ASSERT_TRUE(wait().has_value());
  EXPECT_EQ(turn, 3) << "an empty file is no failed try";
}

TEST_F(UnjoinedAgentTest, ATicketInAFileThatOthersCanReadIsNotUsed) {
  Member member(testing::lets_in(key_of('a')));
  options_.ticket_path = directory_ + "/ticket";
  std::ofstream(options_.ticket_path) << testing::ticket_to({&member}, key_of('a'));
  ASSERT_EQ(chmod(options_.ticket_path.c_str(), 0644), 0);
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  EXPECT_EQ(answer_to(request_of(Verb::kVersion)).status, ResponseStatus::kOk);
  EXPECT_TRUE(member.end().empty());
}

TEST_F(UnjoinedAgentTest, EndsWhenItIsAskedTo) {
  EXPECT_FALSE(wait().has_value());
}

TEST_F(UnjoinedAgentTest, WithoutItsSocketItCannotWait) {
  options_.ipc_path = directory_ + "/none/agent.sock";
  const auto result = wait_for_membership(key_, options_);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().text, "");
}

}  // namespace
}  // namespace muster::agent
