// Goal: an agent signs, and one that is slow, silent or hostile ends in a sentence. Method: agents
// that say what the test wrote down, on a socket of their own; and the ssh-agent of OpenSSH.

#include "cli/edge/ssh_agent.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <thread>

#include "cli/edge/ssh_signer.h"
#include "gossip/ssh/ssh_wire.h"
#include "tests/cli/edge/scratch_folder.h"
#include "tests/gossip/ssh/ssh_samples.h"

namespace muster::cli {
namespace {

using gossip::SshWriter;
using gossip::testing::ada;
using gossip::testing::security_key;

constexpr std::string_view kPurpose = "muster-request";

std::string framed(std::string_view answer) {
  return SshWriter().string(answer).take();
}

std::string identities(const std::vector<gossip::SshKeyLine>& lines) {
  SshWriter out;
  out.byte(12).u32(static_cast<std::uint32_t>(lines.size()));
  for (const gossip::SshKeyLine& line : lines) {
    out.string(gossip::blob_of(line.key)).string(line.comment);
  }
  return framed(out.take());
}

/// An agent that gives one answer after another, each to one request, whatever is asked. After the
/// last it waits until the client is gone, or ends the conversation if `hangs_up`.
class ScriptedAgent {
 public:
  ScriptedAgent(const std::string& path, std::vector<std::string> answers, bool hangs_up = false)
      : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
    thread_ =
        std::thread([this, answers = std::move(answers), hangs_up] { serve(answers, hangs_up); });
  }
  ~ScriptedAgent() { thread_.join(); }
  ScriptedAgent(const ScriptedAgent&) = delete;
  ScriptedAgent& operator=(const ScriptedAgent&) = delete;

 private:
  void serve(const std::vector<std::string>& answers, bool hangs_up) {
    const agent::Fd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char request[4096];
    for (const std::string& answer : answers) {
      if (recv(client.get(), request, sizeof request, 0) <= 0) {
        return;
      }
      for (const char byte : answer) {  // One by one: an answer comes in pieces.
        send(client.get(), &byte, 1, MSG_NOSIGNAL);
      }
    }
    while (!hangs_up && recv(client.get(), request, sizeof request, 0) > 0) {
    }
  }

  agent::Fd listener_;
  std::thread thread_;
};

class SshAgentTest : public ScratchFolder {
 protected:
  SshAgent connected(SshAgentLimits limits = {}) const {
    return SshAgent::connect(path("agent"), limits).value();
  }
  Error error_after(std::vector<std::string> answers, const gossip::SshKey& key = ada()) {
    const ScriptedAgent agent(path("agent"), std::move(answers));
    const auto signature = connected().sign(key, kPurpose, "m");
    std::filesystem::remove(path("agent"));
    return signature.has_value() ? Error{} : signature.error();
  }
};

TEST_F(SshAgentTest, ListsTheKeysThatAreAccepted) {
  const std::string rsa = SshWriter().string("ssh-rsa").string("e").string("n").take();
  const std::string answer = framed(SshWriter()
                                        .byte(12)
                                        .u32(3)
                                        .string(rsa)
                                        .string("old")
                                        .string(gossip::blob_of(ada()))
                                        .string("ada@example")
                                        .string(gossip::blob_of(security_key('s')))
                                        .string("a\x1b[2J")
                                        .take());
  const ScriptedAgent agent(path("agent"), {answer});
  const auto keys = connected().keys();
  ASSERT_TRUE(keys.has_value()) << keys.error().text;
  EXPECT_EQ(*keys,
            (std::vector<gossip::SshKeyLine>{{ada(), "ada@example"}, {security_key('s'), ""}}));
}

TEST_F(SshAgentTest, ASecurityKeySignsWithItsFlagsAndCounter) {
  const gossip::SshSignature touched = gossip::testing::touch('s', kPurpose, "m");
  const std::string bytes = SshWriter()
                                .string(gossip::name_of(touched.key.type))
                                .string(touched.bytes)
                                .byte(touched.flags)
                                .u32(touched.counter)
                                .take();
  const ScriptedAgent agent(path("agent"), {identities({{touched.key, "key ring"}}),
                                            framed(SshWriter().byte(14).string(bytes).take())});
  int touches = 0;
  const SshSigner signer{"", path("agent"), [&] { ++touches; }};
  const auto signature = signer.sign(kPurpose, "m");
  ASSERT_TRUE(signature.has_value()) << signature.error().text;
  EXPECT_EQ(*signature, touched);
  EXPECT_EQ(touches, 1);
}

TEST_F(SshAgentTest, OfSeveralKeysOneHasToBeNamed) {
  const ScriptedAgent agent(path("agent"), {identities({{ada(), ""}, {security_key('s'), ""}})});
  EXPECT_EQ(SshSigner({"", path("agent")}).sign(kPurpose, "m").error().text,
            "ssh-agent holds 2 keys: name the .pub file of the one to sign with");
}

TEST_F(SshAgentTest, SaysWhyItDoesNotSign) {
  const std::string failure = framed("\x05");
  EXPECT_EQ(error_after({failure, identities({})}).text,
            "ssh-agent does not hold the key " + std::string(gossip::testing::kAdaFingerprint) +
                ": add it (ssh-add KEYFILE) and repeat");
  const Error refused = error_after({failure, identities({{ada(), ""}})});
  EXPECT_EQ(refused.code, ErrorCode::kDenied);
  EXPECT_NE(refused.text.find("refuses to sign"), std::string::npos) << refused.text;
}

TEST_F(SshAgentTest, ASignatureOfAnotherKeyOrTypeIsNotHandedOut) {
  const auto other = gossip::sign_ssh(*gossip::testing::real_signer('x'), kPurpose, "m",
                                      gossip::testing::kRealKeys);
  const std::string plain = SshWriter().string("ssh-ed25519").string(other.bytes).take();
  const Error wrong = error_after({framed(SshWriter().byte(14).string(plain).take())});
  EXPECT_NE(wrong.text.find("does not count"), std::string::npos) << wrong.text;
  const std::string answer = framed(SshWriter().byte(14).string(plain).take());
  EXPECT_NE(error_after({answer}, security_key('s')).text.find("cannot read the answer"),
            std::string::npos);
}

TEST_F(SshAgentTest, AnswersThatClaimTooMuchOrHaveATailAreRefused) {
  for (const std::string& answer :
       {std::string("\0\0\0\0", 4), std::string("\xff\xff\xff\xff", 4), std::string("\0\4\0\1", 4),
        framed(SshWriter().byte(14).string("s").raw("tail").take())}) {
    const Error error = error_after({answer});
    EXPECT_NE(error.text.find("cannot read the answer of ssh-agent"), std::string::npos)
        << error.text;
  }
}

TEST_F(SshAgentTest, KeysThatAreClaimedAndAbsentAreRefused) {
  const ScriptedAgent agent(path("agent"), {framed(SshWriter().byte(12).u32(0xffffffff).take())});
  EXPECT_EQ(connected().keys().error().code, ErrorCode::kInvalid);
}

TEST_F(SshAgentTest, ASilentOneIsGivenUpAndOneThatHangsUpToo) {
  {
    const ScriptedAgent agent(path("agent"), {framed("\x05").substr(0, 3)});
    SshAgentLimits limits;
    limits.answer = std::chrono::milliseconds(20);
    const auto keys = connected(limits).keys();
    ASSERT_FALSE(keys.has_value());
    EXPECT_EQ(keys.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(keys.error().text.find("did not answer within 1 s"), std::string::npos);
  }
  std::filesystem::remove(path("agent"));
  const ScriptedAgent agent(path("agent"), {framed("\x05").substr(0, 3)}, true);
  const auto keys = connected().keys();
  ASSERT_FALSE(keys.has_value());
  EXPECT_NE(keys.error().text.find("ended the conversation"), std::string::npos);
}

TEST_F(SshAgentTest, WithoutAnAgentTheNextStepIsSaid) {
  EXPECT_EQ(
      SshAgent::connect("").error().text,
      "there is no ssh-agent: SSH_AUTH_SOCK is not set; start one and add your key (ssh-add), "
      "or name a key file");
  EXPECT_EQ(SshAgent::connect(path("none")).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(SshAgent::connect(std::string(200, 'x')).error().code, ErrorCode::kUnavailable);
}

/// The ssh-agent of OpenSSH, on a socket of its own.
class RealSshAgent : public SshAgentTest {
 protected:
  void SetUp() override {
    if (!has_program("ssh-agent") || !has_program("ssh-add")) {
      GTEST_SKIP() << "there is no ssh-agent here";
    }
    const Ran started = run_line("ssh-agent -s -a " + path("agent"));
    const std::string head = "SSH_AGENT_PID=";
    const std::size_t at = started.output.find(head);
    ASSERT_NE(at, std::string::npos) << started.output;
    pid_ = std::stoi(started.output.substr(at + head.size()));
  }
  void TearDown() override {
    if (pid_ > 0) {
      kill(pid_, SIGTERM);
    }
  }
  /// The answer of ssh-add.
  std::string add(const std::string& name) const {
    const Ran added =
        run_line("SSH_AUTH_SOCK=" + path("agent") + " ssh-add " + path(name) + " < /dev/null");
    return added.code == 0 ? "" : added.output;
  }

 private:
  pid_t pid_ = 0;
};

TEST_F(RealSshAgent, SignsAsAKeyFileDoes) {
  write("k", gossip::testing::kAdaKeyFile);
  write("k.pub", gossip::testing::kAdaLine);
  const SshSigner by_agent{"", path("agent")};
  EXPECT_EQ(by_agent.sign(kPurpose, "m").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(SshSigner({path("k.pub"), path("agent")}).sign(kPurpose, "m").error().code,
            ErrorCode::kNotFound);
  ASSERT_EQ(add("k"), "");
  const auto signature = by_agent.sign(kPurpose, "m");
  ASSERT_TRUE(signature.has_value()) << signature.error().text;
  EXPECT_EQ(SshSigner({path("k.pub"), path("agent")}).sign(kPurpose, "m").value(), *signature);
  EXPECT_EQ(SshSigner({path("k"), ""}).sign(kPurpose, "m").value(), *signature);
  EXPECT_TRUE(
      gossip::verify(*signature, ada(), kPurpose, "m", gossip::testing::kRealKeys).has_value());
}

TEST_F(RealSshAgent, SignsForALockedKeyFileThatItHolds) {
  // The file says that it is locked; the agent got the same key from a file that is not.
  write("open", gossip::testing::kAdaKeyFile);
  write("k", gossip::testing::kLockedKeyFile);
  write("k.pub", gossip::testing::kAdaLine);
  ASSERT_EQ(add("open"), "");
  EXPECT_TRUE(SshSigner({path("k"), path("agent")}).sign(kPurpose, "m").has_value());
  EXPECT_NE(SshSigner({path("k"), ""}).sign(kPurpose, "m").error().text.find("ssh-add"),
            std::string::npos);
}

}  // namespace
}  // namespace muster::cli
